fn main() {
    let a: Vec<String> = std::env::args().collect();
    let s: u64 = a[3].parse().unwrap();
    print!(
        "{}",
        if a[1] == "s" {
            atoll_differential::generate::sequential(&a[2], s)
        } else {
            atoll_differential::generate::concurrent(&a[2], s)
        }
    );
}
