-- Puts jobs into one queue.
--   KEYS[1] meta   KEYS[2] prioritized   KEYS[3] counter of the order within a priority   KEYS[4] marker
--   ARGV[1] prefix of the keys of jobs   ARGV[2] epoch ms
--   then for each job: its id, its data, its life in ms, its priority
local queue = { meta = KEYS[1], prioritized = KEYS[2], order = KEYS[3], marker = KEYS[4], jobPrefix = ARGV[1] }
local jobs = {}
for index = 3, #ARGV do jobs[index - 2] = ARGV[index] end
putJobs(queue, ARGV[2], jobs)
