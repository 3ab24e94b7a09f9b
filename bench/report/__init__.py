# SPDX-License-Identifier: MIT
"""What measured samples mean: statistics, tables, plots, ratios, comparisons."""
