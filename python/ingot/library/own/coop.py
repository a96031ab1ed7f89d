"""`ingot.cuda.coop` in compiled code: kernels make such functions, too."""

from __future__ import annotations

import ingot.cuda.coop.block as block
import ingot.cuda.coop.warp as warp

from .. import coop, coop_items, coop_moves
from ..registry import implements

implements(block.reduce)(coop.block_reduce)
implements(block.sum)(coop.block_sum)
implements(warp.reduce)(coop.warp_reduce)
implements(warp.sum)(coop.warp_sum)
implements(block.exclusive_sum)(coop.block_exclusive_sum)
implements(block.inclusive_sum)(coop.block_inclusive_sum)
implements(block.exclusive_scan)(coop.block_exclusive_scan)
implements(block.inclusive_scan)(coop.block_inclusive_scan)
implements(warp.exclusive_sum)(coop.warp_exclusive_sum)
implements(warp.inclusive_sum)(coop.warp_inclusive_sum)
implements(warp.exclusive_scan)(coop.warp_exclusive_scan)
implements(warp.inclusive_scan)(coop.warp_inclusive_scan)
implements(block.exchange)(coop_items.block_exchange)
implements(block.load)(coop_items.block_load)
implements(block.store)(coop_items.block_store)
implements(block.merge_sort_keys)(coop_items.block_merge_sort_keys)
implements(block.merge_sort_pairs)(coop_items.block_merge_sort_pairs)
implements(warp.merge_sort_keys)(coop_moves.warp_merge_sort_keys)
implements(block.radix_sort_keys)(coop_items.block_radix_sort_keys)
implements(block.radix_sort_keys_descending)(coop_items.block_radix_sort_keys_descending)
implements(block.radix_sort_pairs)(coop_items.block_radix_sort_pairs)
implements(block.radix_sort_pairs_descending)(coop_items.block_radix_sort_pairs_descending)
implements(block.histogram)(coop_items.block_histogram)
implements(block.adjacent_difference)(coop_items.block_adjacent_difference)
implements(block.discontinuity)(coop_items.block_discontinuity)
implements(block.shuffle)(coop_moves.block_shuffle)
implements(block.run_length)(coop_moves.block_run_length)
implements(warp.load)(coop_moves.warp_load)
implements(warp.store)(coop_moves.warp_store)
implements(warp.exchange)(coop_moves.warp_exchange)
implements(warp.merge_sort_pairs)(coop_moves.warp_merge_sort_pairs)
