-- Settles expired requests of a book that nobody may use any more, some of them in each run.
--   ARGV[1] lease ms   ARGV[2] ms that a lease of any ingress lasts at most
-- Answer: how many it settled, and how many are still open

local book = books[1]
shortenLeases(book, tonumber(ARGV[2]), tonumber(ARGV[1]))
local settled = sweep(book)
return { settled, redis.call('ZCARD', book.openKey) }
