//! Arrays in files: npz, and JSON objects of nested lists.

use crate::out::Out;
use anyhow::{Context, Result, anyhow, bail};
use kiloworld_model::read_file;
use kiloworld_sim::npz::{self, Values};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// An array: shape and values, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// Most bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// Reads every array of an npz or JSON file, by its ending.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Array>> {
    let name = path.display();
    let bytes = read_file(path, MOST_BYTES).with_context(|| format!("cannot read {name}"))?;
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => from_npz(&bytes).with_context(|| format!("cannot read arrays from {name}")),
        Some("json") => from_json(&bytes).with_context(|| format!("cannot read arrays from {name}")),
        _ => bail!("{name}: the file's ending must be .npz or .json"),
    }
}

fn from_json(bytes: &[u8]) -> Result<BTreeMap<String, Array>> {
    let value: serde_json::Value = serde_json::from_slice(bytes).context("it is not JSON")?;
    let object =
        value.as_object().ok_or_else(|| anyhow!("expected an object of arrays, such as {{\"qpos\": [0, 1]}}"))?;
    let array = |(key, v): (&String, &serde_json::Value)| {
        let mut array = Array { shape: Vec::new(), data: Vec::new() };
        flatten(v, 0, &mut array).with_context(|| format!("key {key}"))?;
        Ok((key.clone(), array))
    };
    object.iter().map(array).collect()
}

fn flatten(value: &serde_json::Value, depth: usize, out: &mut Array) -> Result<()> {
    match value {
        serde_json::Value::Array(items) => {
            if out.shape.len() == depth {
                if !out.data.is_empty() {
                    bail!("numbers stand beside lists");
                }
                out.shape.push(items.len());
            } else if out.shape.get(depth) != Some(&items.len()) {
                bail!("lists of different lengths");
            }
            items.iter().try_for_each(|v| flatten(v, depth + 1, out))
        }
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) if depth != out.shape.len() => {
            bail!("numbers stand beside lists")
        }
        serde_json::Value::Number(x) => {
            out.data.push(x.as_f64().ok_or_else(|| anyhow!("{x} does not fit a double"))?);
            Ok(())
        }
        serde_json::Value::Bool(b) => {
            out.data.push(f64::from(u8::from(*b)));
            Ok(())
        }
        other => bail!("expected numbers, found {other}"),
    }
}

fn from_npz(bytes: &[u8]) -> Result<BTreeMap<String, Array>> {
    let reals = |(name, npz::Array { shape, values }): (String, npz::Array)| {
        let data = match values {
            Values::F64(v) => v,
            Values::F32(v) => v.into_iter().map(f64::from).collect(),
            Values::I32(v) => v.into_iter().map(f64::from).collect(),
            Values::I64(v) => v.into_iter().map(|x| x as f64).collect(),
            Values::U8(v) => v.into_iter().map(f64::from).collect(),
            Values::Bool(v) => v.into_iter().map(|x| f64::from(u8::from(x))).collect(),
        };
        (name, Array { shape, data })
    };
    Ok(npz::read(bytes)?.into_iter().map(reals).collect())
}

/// Writes arrays to a file, as nested lists by name where it is one of JSON.
pub(crate) fn write<'a>(out: Out, arrays: impl IntoIterator<Item = (&'a str, Array)>) -> Result<()> {
    let json = out.format == "json";
    out.write(|file| {
        if json {
            let object: serde_json::Map<String, serde_json::Value> =
                arrays.into_iter().map(|(name, a)| (name.to_owned(), nested(&a.shape, &a.data))).collect();
            return Ok(writeln!(file, "{}", serde_json::Value::Object(object))?);
        }
        file.write_all(&to_npz(arrays)?)?;
        Ok(())
    })
}

fn nested(shape: &[usize], data: &[f64]) -> serde_json::Value {
    match shape {
        [] => data.first().copied().into(),
        [_] => data.to_vec().into(),
        [n, rest @ ..] => {
            let each = data.len() / n.max(&1);
            (0..*n).map(|k| nested(rest, &data[k * each..(k + 1) * each])).collect()
        }
    }
}

fn to_npz<'a>(arrays: impl IntoIterator<Item = (&'a str, Array)>) -> Result<Vec<u8>> {
    let array = |(name, Array { shape, data }): (&str, Array)| {
        (name.to_owned(), npz::Array { shape, values: Values::F64(data) })
    };
    Ok(npz::write(&arrays.into_iter().map(array).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_a_round_trip() {
        let array = Array { shape: vec![2, 3], data: vec![1.0, -2.5, 3.0, 4.0, 5.0, 1e-300] };
        let bytes = to_npz([("x", array.clone())]).expect("written");
        assert_eq!(from_npz(&bytes).expect("read").get("x"), Some(&array));
        let text = format!("{{\"x\": {}}}", nested(&array.shape, &array.data));
        assert_eq!(from_json(text.as_bytes()).expect("read").get("x"), Some(&array));
    }

    #[test]
    fn json_that_is_no_arrays_is_refused_with_its_key() {
        for (text, part) in [
            (r#"{"qpos": [[1, 2], [3]]}"#, "lists of different lengths"),
            (r#"{"qpos": [1, [2, 3]]}"#, "numbers stand beside lists"),
            (r#"{"qpos": [[1], 2]}"#, "numbers stand beside lists"),
            (r#"{"qpos": [null]}"#, "expected numbers"),
            (r#"{"qpos": 1e999}"#, "not JSON"),
            ("[1]", "expected an object"),
            (&format!("{{\"qpos\": {}", "[".repeat(100_000)), "not JSON"),
        ] {
            let error = format!("{:#}", from_json(text.as_bytes()).expect_err(part));
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
