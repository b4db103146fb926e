//! Memory of the process: its size and its limit, where the operating system tells.

#[cfg(all(target_os = "linux", not(miri)))]
use std::path::{Path, PathBuf};

/// Returns the bytes of memory that the process occupies now.
pub fn resident_bytes() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        kib_of(&status, "VmRSS:")
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Returns the bytes of memory that the process may have: the least of its control groups' limits and the machine's
/// memory.
pub fn limit_bytes() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|all| kib_of(&all, "MemTotal:"));
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        limit_of_groups(&groups, Path::new("/sys/fs/cgroup"), &read).into_iter().chain(machine).min()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Returns a figure in KiB of a file of proc(5), in bytes.
#[cfg(all(target_os = "linux", not(miri)))]
fn kib_of(text: &str, entry: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(entry))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// Returns the least limit of a process's control groups (cgroups(7)) and of those around them.
#[cfg(all(target_os = "linux", not(miri)))]
fn limit_of_groups(groups: &str, root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (folder, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            all if all.split(',').any(|one| one == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        let inner: PathBuf = folder.join(group.trim_start_matches('/'));
        let around = inner.ancestors().take_while(|path| path.starts_with(&folder));
        // Without a limit the file says `max`, or a number that no machine reaches.
        around.filter_map(|path| read(&path.join(file))?.trim().parse::<u64>().ok()).collect()
    });
    limits.min()
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn process_occupies_less_than_its_limit() {
        let (resident, limit) = (resident_bytes().unwrap(), limit_bytes().unwrap());
        assert!(resident > 0 && resident < limit, "{resident} {limit}");
    }

    #[test]
    fn least_limit_of_groups_holds() {
        let read = |path: &Path| match path.to_str()? {
            "/c/a/b/memory.max" => Some("max\n".to_owned()),
            "/c/a/memory.max" => Some("5000\n".to_owned()),
            "/c/memory/x/memory.limit_in_bytes" => Some("4000\n".to_owned()),
            "/c/memory/memory.limit_in_bytes" => Some("9223372036854771712\n".to_owned()),
            _ => None,
        };
        let root = Path::new("/c");
        assert_eq!(limit_of_groups("0::/a/b\n", root, &read), Some(5_000));
        assert_eq!(limit_of_groups("4:cpu:/y\n3:memory:/x\n", root, &read), Some(4_000));
        assert_eq!(limit_of_groups("0::/elsewhere\n", root, &read), None);
    }
}
