//! Values of attributes. What is wrong with them has been reported by the check of the whole document, so these are
//! quiet: a bad value reads as if it were not there.

use crate::dom::Node;
use crate::schema::number;
use crate::spec::Tri;

impl Node {
    /// One number.
    pub(crate) fn real(&self, name: &str) -> Option<f64> {
        number(self.text(name)?.trim())
    }

    /// One whole number.
    pub(crate) fn int(&self, name: &str) -> Option<i32> {
        self.text(name)?.trim().parse().ok()
    }

    /// All numbers, as many as there are.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<f64>> {
        self.text(name)?.split_ascii_whitespace().map(number).collect()
    }

    /// As many numbers as there are over the first ones of an array, whose rest stays.
    pub(crate) fn over<const N: usize>(&self, name: &str, out: &mut [f64; N]) {
        if let Some(list) = self.list(name) {
            for (o, x) in out.iter_mut().zip(list) {
                *o = x;
            }
        }
    }

    /// Exactly N numbers.
    pub(crate) fn exact<const N: usize>(&self, name: &str) -> Option<[f64; N]> {
        self.list(name)?.try_into().ok()
    }

    /// A text of one's own.
    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// "true" or "false" over what was there.
    pub(crate) fn flag(&self, name: &str, out: &mut bool) {
        match self.text(name) {
            Some("true") => *out = true,
            Some("false") => *out = false,
            _ => {}
        }
    }

    /// "true", "false" or "auto" over what was there.
    pub(crate) fn tri(&self, name: &str, out: &mut Tri) {
        match self.text(name) {
            Some("true") => *out = Tri::True,
            Some("false") => *out = Tri::False,
            Some("auto") => *out = Tri::Auto,
            _ => {}
        }
    }

    /// A number over what was there.
    pub(crate) fn set(&self, name: &str, out: &mut f64) {
        if let Some(x) = self.real(name) {
            *out = x;
        }
    }

    /// A whole number over what was there.
    pub(crate) fn set_int(&self, name: &str, out: &mut i32) {
        if let Some(x) = self.int(name) {
            *out = x;
        }
    }

    /// A text over what was there.
    pub(crate) fn set_text(&self, name: &str, out: &mut Option<String>) {
        if let Some(x) = self.owned(name) {
            *out = Some(x);
        }
    }

    /// One of some words, as a value.
    pub(crate) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)], out: &mut T) {
        if let Some(text) = self.text(name)
            && let Some((_, value)) = words.iter().find(|(w, _)| *w == text)
        {
            *out = *value;
        }
    }
}
