//! Which block sizes a set of free lists should have, from the state of a heap.

/// Sizes that suit programs with many small objects: dense below 16 words, then about eight percent apart.
pub const DEFAULT: &[usize] = &[
    3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 113, 128, 146, 170, 204, 256,
    341, 512,
];

/// Chooses at most `lists` block sizes (in words, headers included) that lose the least to padding for these objects.
///
/// `histogram[n]` is the number of objects that need `n` words with their header; the sizes returned ascend and end
/// with the largest that occurs. The optimum, by dynamic programming: O(lists x sizes squared).
pub fn choose(histogram: &[u64], lists: usize) -> Vec<usize> {
    let sizes: Vec<usize> = (0..histogram.len()).filter(|n| histogram[*n] > 0).collect();
    if sizes.is_empty() || lists == 0 {
        return Vec::new();
    }
    let count = sizes.len();
    let lists = lists.min(count);
    let mut objects = vec![0u64; count + 1];
    for (i, size) in sizes.iter().enumerate() {
        objects[i + 1] = objects[i] + histogram[*size];
    }
    // cost[k][j]: the least memory for the first j sizes in k+1 lists; each list spends its largest size on each
    // object.
    let mut cost: Vec<u64> = (0..=count).map(|j| if j == 0 { 0 } else { objects[j] * sizes[j - 1] as u64 }).collect();
    let mut splits = Vec::new();
    for _ in 1..lists {
        let mut next = cost.clone();
        let mut split = vec![0; count + 1];
        for j in 1..=count {
            for i in 1..j {
                let with = cost[i] + (objects[j] - objects[i]) * sizes[j - 1] as u64;
                if with < next[j] {
                    next[j] = with;
                    split[j] = i;
                }
            }
        }
        cost = next;
        splits.push(split);
    }
    let mut chosen = Vec::new();
    let mut end = count;
    chosen.push(sizes[end - 1]);
    for split in splits.iter().rev() {
        let before = split[end];
        if before > 0 {
            end = before;
            chosen.push(sizes[end - 1]);
        }
    }
    chosen.reverse();
    chosen
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn memory(histogram: &[u64], lists: &[usize]) -> u64 {
        let fit = |n: usize| *lists.iter().find(|size| **size >= n).expect("fits") as u64;
        (0..histogram.len()).map(|n| if histogram[n] > 0 { histogram[n] * fit(n) } else { 0 }).sum()
    }

    #[test]
    fn the_choice_is_the_best_of_all() {
        let histogram = [0, 0, 5, 100, 3, 40, 0, 7, 1];
        for lists in 1..=7 {
            let chosen = choose(&histogram, lists);
            assert!(chosen.len() <= lists && chosen.last() == Some(&8));
            let best = (0u32..1 << 7)
                .filter(|mask| (mask.count_ones() as usize) < lists)
                .map(|mask| {
                    let mut sizes: Vec<usize> = (1..8).filter(|n| mask >> (n - 1) & 1 == 1).collect();
                    sizes.push(8);
                    memory(&histogram, &sizes)
                })
                .min();
            assert_eq!(Some(memory(&histogram, &chosen)), best);
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(choose(&[0, 0], 4).is_empty());
    }
}
