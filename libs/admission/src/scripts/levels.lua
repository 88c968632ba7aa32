-- What is taken of each kind of check now. `isEmpty` of the book says whether it has no records. Included after the
-- ledger, in the scripts that look at levels.
local levelOf = {
  lease = function(check)
    return leaseCount(check.key)
  end,
  rate = function(check)
    return rateNow(check.key, check.max, check.periodMs).level
  end,
  budget = function(check, book)
    local budget = budgetNow(check.key, check.periodMs)
    -- No request is open, so what still counts as reserved belongs to records that Redis has lost.
    if book.isEmpty then budget.reserved = 0 end
    return budget.spent + budget.reserved
  end,
}
