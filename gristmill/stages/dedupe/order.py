"""The order of snapshots; see gristmill.stages.fingerprints.order."""

from gristmill.stages.fingerprints.order import Order, Ranked, order_path, parse_order, round_key

__all__ = ["Order", "Ranked", "order_path", "parse_order", "round_key"]
