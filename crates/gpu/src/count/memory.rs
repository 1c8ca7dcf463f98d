//! What a workgroup on the host shares: buffers that know which words were touched, and a barrier.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The word was loaded before the dispatch stored it.
const READ: u8 = 1;
/// The word was stored.
const WRITTEN: u8 = 2;

/// A storage buffer.
struct Buffer {
    words: Vec<AtomicU32>,
    touched: Vec<AtomicU8>,
}

/// Memory of one world.
pub(super) struct Memory {
    buffers: Vec<Buffer>,
    workgroup: Vec<AtomicU32>,
    /// the uniform `Params` of the module `layout`
    pub(super) params: [u32; 8],
}

impl Memory {
    pub(super) fn new(buffers: Vec<Vec<u32>>) -> Self {
        let buffer = |words: Vec<u32>| Buffer {
            touched: words.iter().map(|_| AtomicU8::new(0)).collect(),
            words: words.into_iter().map(AtomicU32::new).collect(),
        };
        let buffers = buffers.into_iter().map(buffer).collect();
        // one world, alone in its slice
        Self { buffers, workgroup: Vec::new(), params: [1, 0, 1, 0, 0, 0, 0, 0] }
    }

    /// Makes ready for a dispatch: nothing touched, workgroup memory of that many words.
    pub(super) fn begin(&mut self, workgroup_words: usize, argument: u32) {
        self.params[4] = argument;
        self.workgroup = (0..workgroup_words).map(|_| AtomicU32::new(0)).collect();
        self.buffers.iter().flat_map(|b| &b.touched).for_each(|t| t.store(0, Ordering::Relaxed));
    }

    /// Words of a buffer that the dispatch read from memory, and words that it wrote, each once.
    pub(super) fn touched(&self, buffer: usize) -> (u64, u64) {
        let with =
            |bit: u8| self.buffers[buffer].touched.iter().filter(|t| t.load(Ordering::Relaxed) & bit != 0).count();
        (with(READ) as u64, with(WRITTEN) as u64)
    }

    /// A buffer's words.
    pub(super) fn words(&self, buffer: usize) -> Vec<u32> {
        self.buffers[buffer].words.iter().map(|w| w.load(Ordering::Relaxed)).collect()
    }

    /// 0 past the end, as devices may give.
    pub(super) fn load(&self, buffer: usize, at: usize) -> u32 {
        let b = &self.buffers[buffer];
        let Some(word) = b.words.get(at) else { return 0 };
        if b.touched[at].load(Ordering::Relaxed) & WRITTEN == 0 {
            b.touched[at].fetch_or(READ, Ordering::Relaxed);
        }
        word.load(Ordering::Relaxed)
    }

    pub(super) fn store(&self, buffer: usize, at: usize, value: u32) {
        let b = &self.buffers[buffer];
        if let Some(word) = b.words.get(at) {
            b.touched[at].fetch_or(WRITTEN, Ordering::Relaxed);
            word.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn workgroup_word(&self, at: usize) -> u32 {
        self.workgroup.get(at).map_or(0, |w| w.load(Ordering::Relaxed))
    }

    pub(super) fn set_workgroup_word(&self, at: usize, value: u32) {
        if let Some(w) = self.workgroup.get(at) {
            w.store(value, Ordering::Relaxed);
        }
    }
}

/// A barrier that lets go where an invocation has failed.
pub(super) struct Gate {
    lanes: u32,
    /// invocations that wait, times that the gate opened, broken
    state: Mutex<(u32, u64, bool)>,
    opened: Condvar,
}

impl Gate {
    pub(super) fn new(lanes: u32) -> Self {
        Self { lanes, state: Mutex::new((0, 0, false)), opened: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, (u32, u64, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait(&self) -> Result<(), String> {
        if self.lanes == 1 {
            return Ok(());
        }
        let mut state = self.lock();
        state.0 += 1;
        if state.0 == self.lanes {
            (state.0, state.1) = (0, state.1 + 1);
            self.opened.notify_all();
        }
        let (turn, mine) = (state.1, state.0 != 0);
        let state = if mine {
            let still = |s: &mut (u32, u64, bool)| s.1 == turn && !s.2;
            self.opened.wait_while(state, still).unwrap_or_else(PoisonError::into_inner)
        } else {
            state
        };
        if state.2 { Err("another invocation failed".to_owned()) } else { Ok(()) }
    }

    pub(super) fn break_down(&self) {
        self.lock().2 = true;
        self.opened.notify_all();
    }
}
