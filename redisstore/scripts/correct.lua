-- correct corrects a partition's time after the server's clock jumped ahead, and records the time.
-- KEYS: time
-- ARGV: ..., by how much it is ahead in ms, the offset that the caller has seen
-- Reply: OK, 1 if it was corrected; another caller may have done it before
local off, seen = tonumber(ARGV[ARGS]), tonumber(ARGV[ARGS + 1])
local right = off ~= 0 and offset == seen
if right then
  offset, jumps = offset - off, jumps + 1
  now = math.max(server + offset, clock)
  moment = format('%d', now)
end
note(now)
return reply('OK', right and 1 or 0)
