"""Which kills are tried: CI sets GRISTMILL_KILLS to another number at each commit; elsewhere it is always 0."""

import os

NUMBER = int(os.environ.get("GRISTMILL_KILLS") or 0)
