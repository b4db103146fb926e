//! Ranking of documents for some words by Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
//! BM25 and Beyond", 2009), with its usual parameters.

/// Saturation: how soon more of the same word adds nothing (`k1`).
const SATURATION: f64 = 1.2;
/// Weight of a document's length (`b`).
const LENGTH_WEIGHT: f64 = 0.75;

/// Document that fits.
pub struct Hit {
    pub name: String,
    /// First line.
    pub title: String,
    /// Line with most of the words.
    pub line: String,
    pub score: f64,
}

/// Ranking of documents for some words.
pub struct Ranking {
    words: Vec<String>,
    /// Number of documents that contain each word.
    with_word: Vec<u32>,
    documents: usize,
    /// Number of words in all documents.
    length: usize,
    fitting: Vec<Fitting>,
}

struct Fitting {
    hit: Hit,
    /// Count of each word in the document.
    counts: Vec<u32>,
    length: usize,
}

impl Ranking {
    /// Makes an empty ranking for these words.
    pub fn of(words: &str) -> Self {
        let mut words: Vec<String> = words_of(words).collect();
        words.sort_unstable();
        words.dedup();
        Self { with_word: vec![0; words.len()], words, documents: 0, length: 0, fitting: Vec::new() }
    }

    /// Number of ranked documents.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Adds a document.
    pub fn add(&mut self, name: &str, text: &str) {
        let (mut counts, mut length) = (vec![0; self.words.len()], 0);
        for word in words_of(text) {
            length += 1;
            if let Ok(at) = self.words.binary_search(&word) {
                counts[at] += 1;
            }
        }
        self.documents += 1;
        self.length += length;
        if counts.iter().any(|count| *count > 0) {
            self.with_word.iter_mut().zip(&counts).for_each(|(with, count)| *with += u32::from(*count > 0));
            let title = text.lines().next().unwrap_or_default().trim().to_owned();
            let hit = Hit { name: name.to_owned(), title, line: self.telling_line(text), score: 0.0 };
            self.fitting.push(Fitting { hit, counts, length });
        }
    }

    /// Returns the first line with most of the words; the title only if no other line has as many.
    fn telling_line(&self, text: &str) -> String {
        let words_in =
            |line: &str| self.words.iter().filter(|word| words_of(line).any(|other| other == **word)).count();
        let lines = text.lines().map(str::trim);
        let best = lines.enumerate().max_by_key(|(at, line)| (words_in(line), *at > 0, std::cmp::Reverse(*at)));
        best.map_or_else(String::new, |(_, line)| line.to_owned())
    }

    /// Returns the best documents, the best first.
    pub fn best(self, count: usize) -> Vec<Hit> {
        let documents = self.documents as f64;
        let mean = self.length as f64 / documents.max(1.0);
        let weight = |with: u32| (1.0 + (documents - f64::from(with) + 0.5) / (f64::from(with) + 0.5)).ln();
        let weights: Vec<f64> = self.with_word.iter().map(|with| weight(*with)).collect();
        let score = |fitting: &Fitting| -> f64 {
            let long = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * fitting.length as f64 / mean);
            let of_word = |(weight, count): (&f64, &u32)| {
                weight * f64::from(*count) * (SATURATION + 1.0) / (f64::from(*count) + long)
            };
            weights.iter().zip(&fitting.counts).map(of_word).sum()
        };
        let scored = self.fitting.iter().map(score).collect::<Vec<_>>();
        let mut hits: Vec<Hit> =
            self.fitting.into_iter().zip(scored).map(|(fitting, score)| Hit { score, ..fitting.hit }).collect();
        hits.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.name.cmp(&other.name)));
        hits.truncate(count);
        hits
    }
}

/// Returns the words of a text, in lower case.
fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(words: &str, texts: &[&str]) -> Vec<String> {
        let mut ranking = Ranking::of(words);
        texts.iter().enumerate().for_each(|(at, text)| ranking.add(&at.to_string(), text));
        assert_eq!(ranking.documents(), texts.len());
        ranking.best(10).into_iter().map(|hit| format!("{} {}", hit.name, hit.line)).collect()
    }

    #[test]
    fn ranking_prefers_rare_words() {
        let texts =
            ["the bird", "the stint", "the the the gull", "the stint and the bird and much else that is said here"];
        assert_eq!(
            ranked("stint the", &texts)[..2],
            ["1 the stint", "3 the stint and the bird and much else that is said here"]
        );
        assert_eq!(ranked("owl", &texts), [""; 0]);
        assert_eq!(ranked("", &texts), [""; 0]);
        assert_eq!(ranked("owl", &[]), [""; 0]);
    }

    #[test]
    fn most_telling_line_is_shown() {
        assert_eq!(
            ranked("call wader", &["Waders\nA wader\nThe wader's call\nNo wader, no call"]),
            ["0 The wader's call"]
        );
        assert_eq!(ranked("wader", &["Wader\n\nA WADER!"]), ["0 A WADER!"]);
    }
}
