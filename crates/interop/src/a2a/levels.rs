//! Levels of JSON, counted before it is parsed.

/// Returns true if no value of this JSON is nested deeper than `most` levels.
pub(super) fn fits(json: &[u8], most: usize) -> bool {
    let (mut level, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                level += 1;
                if level > most {
                    return false;
                }
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn levels_are_counted_outside_texts() {
        assert!(fits(br#"{"a":["[[[\"[["]}"#, 2));
        assert!(!fits(b"[[[", 2) && fits(b"[][][]", 1));
    }
}
