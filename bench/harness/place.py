"""Where the benches' documents lie: one source, one snapshot."""

SOURCE = "bench"
SNAPSHOT = "2024"
