"""ShardSample: draws the shards that a proof derives again."""

import msgspec

from gristmill.lake.rows.draw import draw_fraction


class ShardSample(msgspec.Struct, frozen=True):
    """A share of the shards, drawn by a hash of snapshot and name.

    A shard keeps its name from raw data to tokens, so one seed draws the same shards of all assets. What is derived
    again of a mix was made from documents and labels that are derived again too.

    Attributes:
        share: share of the shards, from 0 to 1; 1 has all of them.
        seed: seed of the draw. It is drawn too, and shown: who forges a lake must not know which shards are left out.
    """

    share: float
    seed: int = 0

    def contains_shard(self, snapshot: str, name: str) -> bool:
        """Whether a shard is in the sample.

        Args:
            snapshot: key of its snapshot.
            name: name of the shard.

        >>> [ShardSample(share).contains_shard("2024", "00") for share in (0, 1)]
        [False, True]
        """
        return draw_fraction((snapshot, name), self.seed) < self.share
