//! The published figures: Lim, Pardyak, Bershad, "A Memory-Efficient Real-Time Non-Copying Garbage Collector", ISMM
//! 1998, Tables 1 to 7.

/// Table 1: program, megabytes allocated, megabytes live on average at collections.
pub const TABLE_1: [(&str, f64, f64); 7] = [
    ("TRANS", 43.7, 3.2),
    ("HTTPD", 16.1, 9.7),
    ("LFS", 96.7, 4.6),
    ("BLUR", 212.1, 4.5),
    ("M3PP", 4.2, 0.1),
    ("M3", 9.4, 4.3),
    ("CUBE", 4.0, 0.5),
];

/// The collectors of Tables 2, 4 and 5, in the order of their columns.
pub const KERNEL_COLUMNS: [&str; 5] = ["TM_BL", "TM_PM", "TM_RM", "TM_RT", "CP"];

/// Table 2: smallest heap in megabytes.
pub const TABLE_2: [(&str, [f64; 5]); 4] = [
    ("TRANS", [15.6, 7.8, 6.6, 6.6, 10.9]),
    ("HTTPD", [20.3, 15.6, 14.1, 14.1, 19.5]),
    ("LFS", [19.0, 13.3, 11.7, 11.7, 14.8]),
    ("BLUR", [10.8, 10.2, 6.3, 6.2, 9.4]),
];

/// Table 3: the heap sizes in megabytes of Figure 5.
pub const TABLE_3: [(&str, [f64; 3]); 4] = [
    ("TRANS", [22.7, 11.0, 10.9]),
    ("HTTPD", [22.7, 19.5, 16.4]),
    ("LFS", [22.7, 11.7, 8.6]),
    ("BLUR", [22.7, 19.5, 9.5]),
];

/// Table 4: collections per megabyte allocated, in a heap of 22.7 MB.
pub const TABLE_4: [(&str, [f64; 5]); 4] = [
    ("TRANS", [0.28, 0.12, 0.08, 0.11, 0.18]),
    ("LFS", [0.82, 0.13, 0.08, 0.10, 0.25]),
    ("HTTPD", [15.94, 0.99, 0.18, 0.32, 13.87]),
    ("BLUR", [1.88, 0.13, 0.08, 0.09, 0.22]),
];

/// Table 5: longest pause in milliseconds, in a heap of 22.7 MB.
pub const TABLE_5: [(&str, [f64; 5]); 4] = [
    ("TRANS", [491.0, 155.0, 170.0, 14.0, 55.0]),
    ("HTTPD", [660.0, 344.0, 441.0, 14.0, 270.0]),
    ("LFS", [240.0, 140.0, 137.0, 11.0, 80.0]),
    ("BLUR", [132.0, 93.0, 95.0, 12.0, 78.0]),
];

/// Table 6: the heap sizes in megabytes of Figure 9.
pub const TABLE_6: [(&str, [f64; 3]); 2] = [("M3", [10.6, 9.4, 8.6]), ("M3PP", [1.5, 0.8, 0.4])];

/// The collectors of Table 7, in the order of its columns.
pub const USER_COLUMNS: [&str; 4] = ["FLS", "FLS-PH", "ALS", "ALS-PH"];

/// Table 7: smallest heap in megabytes.
pub const TABLE_7: [(&str, [f64; 4]); 2] = [("M3PP", [0.31, 0.31, 0.31, 0.27]), ("M3", [9.4, 8.6, 7.8, 8.2])];

/// What the text says of Figures 10 and 11, in percent of the heap: internal fragmentation and headers of FLS, then
/// sub-page external fragmentation without page filling, with it, and with its lazier policy.
pub const FIGURE_10: [(&str, f64, f64); 2] = [("M3PP", 55.0, 43.0), ("M3", 35.0, 24.0)];
/// See [`FIGURE_10`].
pub const FIGURE_11: [(&str, f64); 3] = [("FLS", 15.0), ("FLS-PF", 8.0), ("FLS-PF2", 3.5)];
/// The heap size in megabytes wherever the paper names no other.
pub const AMPLE: f64 = 22.7;
