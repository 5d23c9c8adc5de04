import { type Reply, textsOf } from './reply.ts';
import { RedisScript } from './script.ts';

/** Calls each command that the scripts of the engine call, on keys that begin with `K` and are deleted again. No value is kept under `K` itself. */
const COMMANDS = `
local S = K .. ':s'
try('SET', S, 'a') try('GET', S) try('APPEND', S, 'b') try('STRLEN', S) try('GETRANGE', S, 0, 0)
try('EXISTS', S) try('EXPIRE', S, 60) try('PEXPIRE', S, 60000) try('PTTL', S) try('RENAME', S, K .. ':2')
try('INCR', K .. ':n') try('INCRBY', K .. ':n', 2) try('DECR', K .. ':n') try('DECRBY', K .. ':n', 1)
try('HSET', K .. ':h', 'f', 1) try('HSETNX', K .. ':h', 'f', 1) try('HGET', K .. ':h', 'f') try('HMGET', K .. ':h', 'f')
try('HGETALL', K .. ':h') try('HEXISTS', K .. ':h', 'f') try('HLEN', K .. ':h') try('HINCRBY', K .. ':h', 'f', 1)
try('HRANDFIELD', K .. ':h', 1) try('HDEL', K .. ':h', 'f')
try('ZADD', K .. ':z', 1, 'm') try('ZINCRBY', K .. ':z', 1, 'm') try('ZSCORE', K .. ':z', 'm') try('ZCARD', K .. ':z')
try('ZRANGE', K .. ':z', 0, 0) try('ZREVRANGE', K .. ':z', 0, 0) try('ZRANGEBYSCORE', K .. ':z', '-inf', '+inf')
try('ZRANDMEMBER', K .. ':z') try('ZREM', K .. ':z', 'm')
try('RPUSH', K .. ':l', 'e') try('LINDEX', K .. ':l', 0) try('LLEN', K .. ':l') try('LRANGE', K .. ':l', 0, 0) try('LPOP', K .. ':l')
try('TIME') try('DEL', S, K .. ':2', K .. ':n', K .. ':h', K .. ':z', K .. ':l')
`;

/**
 * Finds out whether Redis does what the engine asks of it. Key: a name of the caller, which is also a channel. Argument:
 * what is published there if no command is refused. Returns `ok`, or `refused`, the first error, and the names of the
 * refused commands.
 */
export const PROBE = new RedisScript(`
local K, refused, why = KEYS[1], {}, nil
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return end
  refused[#refused + 1] = (...)
  why = why or answer.err
end
${COMMANDS}
if not why then try('PUBLISH', K, ARGV[1]) end
if why then return {'refused', why, unpack(refused)} end
return {'ok'}
`);

/** Why Redis does not do what the engine asks of it, in Redis' words; `undefined` if it does. `reply` is that of `PROBE`. */
export function refusalIn(reply: Reply): string | undefined {
  const [code, why = '', ...commands] = textsOf(reply);
  if (code === 'ok') return undefined;
  // Redis says which script failed, and where. Nobody who reads the log can use that.
  const text = why.replace(/ script: [0-9a-f]{40}, on @user_script:\d+\.$/, '');
  return commands.length === 0
    ? 'Redis has answered something else'
    : `${text} (${listed(commands)})`;
}

/** Whether scripts do all but tell the time. `reply` is that of `PROBE`. */
export function lacksTimeOnly(reply: Reply): boolean {
  const [code, , ...commands] = textsOf(reply);
  return code === 'refused' && commands.join() === 'TIME';
}

const LISTED_MAX = 8;

function listed(commands: readonly string[]): string {
  const more = commands.length - LISTED_MAX;
  const some = commands.slice(0, LISTED_MAX).join(', ');
  return more > 0 ? `${some} and ${more} more commands` : some;
}
