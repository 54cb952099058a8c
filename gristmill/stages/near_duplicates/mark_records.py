"""The records of the file `marks` of near duplicates: one for each document that is in a cluster, by ascending row."""

import numpy as np

NEAR_MARK = np.dtype([("row", "<u4"), ("cluster", "<u8"), ("size", "<u4"), ("similarity", "<f4"), ("duplicate", "u1")])
"""`row`: of the document in its shard. `cluster`: below 2^52. `size`: documents in the cluster at the time.
`similarity`: to the document that is kept, 1 for itself. `duplicate`: 1 unless the document is kept."""
