//! What a batch takes of memory, held against what there is before anything is allocated.

use crate::Error;

/// Bytes that a batch asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// a world: its state between steps, its own fields of the model, and its history
    pub per_world: u64,
    /// whatever the number of worlds: copies of the model, work arrays of all threads
    pub shared: u64,
}

impl Need {
    /// Bytes of so many worlds.
    pub(crate) fn of(self, nworld: usize) -> u128 {
        u128::from(self.per_world) * nworld as u128 + u128::from(self.shared)
    }

    /// Worlds that fit into so many bytes.
    pub(crate) fn worlds_in(self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.shared) / self.per_world.max(1)
    }

    /// An error where so many worlds do not fit into the memory of this machine. Where that is not known nothing is refused.
    pub(crate) fn check(self, nworld: usize) -> Result<(), Error> {
        self.within(nworld, available())
    }

    fn within(self, nworld: usize, available: Option<u64>) -> Result<(), Error> {
        let need = self.of(nworld);
        let Some(available) = available.filter(|&a| need > u128::from(a)) else { return Ok(()) };
        let most = self.worlds_in(available);
        Err(Error::Memory { nworld, need, available, per_world: self.per_world, shared: self.shared, most })
    }
}

/// Bytes that a process can still have on Linux: of the machine, of the control group that it runs in, of its address space.
/// Nothing where that is not known.
pub fn available() -> Option<u64> {
    let machine = kib_of("/proc/meminfo", "MemAvailable:");
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    // what the group uses counts files that the kernel would drop: those are free
    let group = |limit: &str, used: &str, stat: &str| {
        let dropped = read(stat).as_deref().and_then(inactive_file).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(dropped)))
    };
    let second = "/sys/fs/cgroup";
    let groups = [
        group(&format!("{second}/memory.max"), &format!("{second}/memory.current"), &format!("{second}/memory.stat")),
        group(
            &format!("{second}/memory/memory.limit_in_bytes"),
            &format!("{second}/memory/memory.usage_in_bytes"),
            &format!("{second}/memory/memory.stat"),
        ),
    ];
    let space = read("/proc/self/limits").as_deref().and_then(address_space);
    let space = space.map(|most| most.saturating_sub(kib_of("/proc/self/status", "VmSize:").unwrap_or(0)));
    groups.into_iter().chain([machine, space]).flatten().min()
}

/// Bytes that this process had at most at once, on Linux.
pub fn peak() -> Option<u64> {
    kib_of("/proc/self/status", "VmHWM:")
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn kib_of(path: &str, name: &str) -> Option<u64> {
    read(path).as_deref().and_then(|text| kib(text, name))
}

/// Bytes of a line `name  123 kB`.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| 1024 * kib)
}

/// The limit of `/proc/self/limits` on the address space, which `ulimit -v` sets.
fn address_space(text: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

/// `inactive_file` of a control group's `memory.stat`.
fn inactive_file(text: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix("inactive_file "))?.trim().parse().ok()
}

/// Bytes for people: 1.2 GB.
pub fn bytes(n: u128) -> String {
    let n = n as f64;
    match n {
        _ if n < 1e6 => format!("{:.0} kB", n / 1e3),
        _ if n < 1e9 => format!("{:.0} MB", n / 1e6),
        _ if n < 1e12 => format!("{:.1} GB", n / 1e9),
        _ => format!("{:.0} GB", n / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_does_not_fit_is_told_how_many_worlds_do() {
        let need = Need { per_world: 1000, shared: 500 };
        assert!(need.within(9, Some(9500)).is_ok() && need.within(usize::MAX, None).is_ok());
        let Err(Error::Memory { need: asked, most, .. }) = need.within(10, Some(9500)) else { panic!("it fits") };
        assert_eq!((asked, most), (10_500, 9));
        assert!(need.within(usize::MAX, Some(9500)).is_err());
        assert!(matches!(need.within(1, Some(400)), Err(Error::Memory { most: 0, .. })));
    }

    #[test]
    fn the_kernel_s_words_are_understood() {
        assert_eq!(kib("MemTotal: 9 kB\nMemAvailable:    12 kB\n", "MemAvailable:"), Some(12 * 1024));
        let limits = |most: &str| {
            format!("Limit  Soft Limit  Hard Limit\nMax address space         {most}   unlimited   bytes\n")
        };
        assert_eq!((address_space(&limits("4096")), address_space(&limits("unlimited"))), (Some(4096), None));
        assert_eq!(inactive_file("anon 3\ninactive_file 77\n"), Some(77));
        assert_eq!((kib("MemTotal: 9 kB", "MemAvailable:"), inactive_file("")), (None, None));
    }
}
