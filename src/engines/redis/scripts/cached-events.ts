/** Where the last events of cache channels are. `forgetCached` takes an app and a topic. */
export const FORGET_CACHED = `
local kb, KN, KB, KT = P .. 'kb', P .. 'KN', P .. 'KB', P .. 'KT'
local function forgetCached(app, one)
  local bytes = tonumber(call('HGET', kb, one) or '0')
  call('DEL', P .. 'K:' .. one)
  call('HDEL', kb, one)
  if call('ZREM', P .. 'k:' .. app, one) == 0 then return end
  -- Not -bytes: Lua prints -0, which is no integer for Redis.
  if tonumber(call('ZINCRBY', KN, -1, app)) <= 0 then call('ZREM', KN, app) call('ZREM', KB, app)
  else call('ZINCRBY', KB, 0 - bytes, app) end
  call('HINCRBY', KT, 'b', 0 - bytes)
end
`;
