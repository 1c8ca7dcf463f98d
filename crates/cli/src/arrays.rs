//! Arrays in files: npz, and JSON objects of nested lists.

use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

/// An array: shape and values, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// Reads every array of an npz or JSON file, by its ending.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Array>> {
    let name = path.display();
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => read_npz(path).with_context(|| format!("cannot read arrays from {name}")),
        Some("json") => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            let value: serde_json::Value =
                serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?;
            let object = value
                .as_object()
                .ok_or_else(|| anyhow!("{name}: expected an object of arrays, such as {{\"qpos\": [0, 1]}}"))?;
            object
                .iter()
                .map(|(key, v)| {
                    let mut array = Array { shape: Vec::new(), data: Vec::new() };
                    flatten(v, 0, &mut array).with_context(|| format!("{name}: key {key}"))?;
                    Ok((key.clone(), array))
                })
                .collect()
        }
        _ => bail!("{name}: the file's ending must be .npz or .json"),
    }
}

fn flatten(value: &serde_json::Value, depth: usize, out: &mut Array) -> Result<()> {
    match value {
        serde_json::Value::Array(items) => {
            if out.shape.len() == depth {
                out.shape.push(items.len());
            } else if out.shape.get(depth) != Some(&items.len()) {
                bail!("lists of different lengths");
            }
            items.iter().try_for_each(|v| flatten(v, depth + 1, out))
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

fn read_npz(path: &Path) -> Result<BTreeMap<String, Array>> {
    let mut npz = npyz::npz::NpzArchive::open(path)?;
    let names: Vec<String> = npz.array_names().map(str::to_owned).collect();
    let mut out = BTreeMap::new();
    for name in names {
        let Some(npy) = npz.by_name(&name)? else { continue };
        let shape = npy.shape().iter().map(|&n| Ok(usize::try_from(n)?)).collect::<Result<Vec<usize>>>()?;
        if npy.order() != npyz::Order::C {
            bail!("{name} is in Fortran order; save np.ascontiguousarray of it");
        }
        let dtype = npy.dtype();
        let data: Vec<f64> = match dtype.descr().trim_matches('\'').trim_start_matches(['<', '|', '=']) {
            "f8" => npy.into_vec()?,
            "f4" => npy.into_vec::<f32>()?.into_iter().map(f64::from).collect(),
            "i4" => npy.into_vec::<i32>()?.into_iter().map(f64::from).collect(),
            "i8" => npy.into_vec::<i64>()?.into_iter().map(|x| x as f64).collect(),
            "b1" => npy.into_vec::<bool>()?.into_iter().map(|x| f64::from(u8::from(x))).collect(),
            other => bail!("{name} has element type {other}; save it as float64"),
        };
        out.insert(name, Array { shape, data });
    }
    Ok(out)
}

/// Writes arrays to an npz file.
pub(crate) fn write_npz<'a>(path: &Path, arrays: impl IntoIterator<Item = (&'a str, Array)>) -> Result<()> {
    use npyz::WriterBuilder;
    let write = || -> Result<()> {
        // no time of writing, so that the same arrays are the same file
        let options = npyz::zip::write::FileOptions::default().last_modified_time(npyz::zip::DateTime::default());
        let mut npz = npyz::npz::NpzWriter::new(BufWriter::new(std::fs::File::create(path)?));
        for (name, array) in arrays {
            let shape: Vec<u64> = array.shape.iter().map(|&n| n as u64).collect();
            let mut writer = npz.array(name, options)?.default_dtype().shape(&shape).begin_nd()?;
            writer.extend(array.data.iter().copied())?;
            writer.finish()?;
        }
        npz.zip_writer().flush()?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_a_round_trip_through_npz() {
        let path = std::env::temp_dir().join(format!("kiloworld-arrays-{}.npz", std::process::id()));
        let array = Array { shape: vec![2, 3], data: vec![1.0, -2.5, 3.0, 4.0, 5.0, 1e-300] };
        write_npz(&path, [("x", array.clone())]).expect("written");
        let back = read(&path).expect("read");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(back.get("x"), Some(&array));
    }

    #[test]
    fn json_of_ragged_lists_is_refused_with_its_key() {
        let path = std::env::temp_dir().join(format!("kiloworld-arrays-{}.json", std::process::id()));
        std::fs::write(&path, r#"{"qpos": [[1, 2], [3]]}"#).expect("written");
        let error = format!("{:#}", read(&path).expect_err("ragged"));
        std::fs::remove_file(&path).expect("removed");
        assert!(error.contains("qpos") && error.contains("different lengths"), "{error}");
    }
}
