-- probe uses every command that the scripts use: a user who lacks one is found before a script stops in its middle.
-- KEYS: time, a key that is deleted again
-- ARGV: ..., the channel of hints
-- Reply: OK; DENIED, the command
local key = KEYS[2]
local commands = {
  {'SET', key, 'a'}, {'GET', key}, {'MSET', key, 'a'}, {'MGET', key}, {'TYPE', key}, {'DEL', key}, {'INCR', key}, {'PEXPIRE', key, '1000'}, {'DEL', key},
  {'HSET', key, 'a', '1'}, {'HINCRBY', key, 'a', '1'}, {'HMGET', key, 'a'}, {'HGET', key, 'a'}, {'HGETALL', key}, {'HDEL', key, 'b'}, {'DEL', key},
  {'SADD', key, 'a'}, {'SMEMBERS', key}, {'SREM', key, 'a'},
  {'RPUSH', key, 'a'}, {'LRANGE', key, '0', '-1'}, {'LTRIM', key, '0', '-1'}, {'DEL', key},
  {'ZADD', key, '1', 'a'}, {'ZCARD', key}, {'ZSCORE', key, 'a'}, {'ZMSCORE', key, 'a'}, {'ZRANGE', key, '0', '0'}, {'ZREMRANGEBYSCORE', key, '2', '3'}, {'ZREM', key, 'a'},
  {'XADD', key, '1-1', 'a', '1'}, {'XRANGE', key, '-', '+'}, {'XDEL', key, '1-1'}, {'UNLINK', key}, {'PUBLISH', ARGV[ARGS], ''},
}
for _, command in ipairs(commands) do
  local is = redis.pcall(unpack(command))
  if type(is) == 'table' and is.err then return reply('DENIED', command[1] .. ': ' .. is.err) end
end
return reply('OK')
