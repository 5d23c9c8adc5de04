import { describe, expect, it } from 'bun:test';
import { Failure, type Reply } from '../reply.ts';
import { Interpreter } from './interpreter.ts';

/** Runs a script whose commands answer with their words. */
function run(source: string, ...args: readonly string[]): Reply {
  const interpreter = new Interpreter((words) =>
    words[0] === 'FAIL' ? new Failure('ERR failed') : words,
  );
  interpreter.load('sha', source);
  return interpreter.run({ sha1: 'sha', keys: [], args });
}

describe('the interpreter of scripts', () => {
  it.each([
    [`local a, b = string.match('x=12', '^(%a)=(%d+)$') return {a, b}`, ['x', '12']],
    [`local function two() return 1, 2 end return {two(), two()}`, [1, 1, 2]],
    [`local function two() return 1, 2 end return {two(), (two())}`, [1, 1]],
    [`local function none() end local a, b = 1, none() return {a, b == nil}`, [1, 1]],
    [`local x = 1 do local x = x + 1 end local x = x + 2 return x`, 3],
    [`local a, b = 1, 2 a, b = b, a return {a, b}`, [2, 1]],
    [`local t = {} t[3] = 'c' t[1] = 'a' t[2] = 'b' return {#t, t[3]}`, [3, 'c']],
    [`local f = {} for i = 1, 3 do f[i] = function() return i end end return f[1]() + f[3]()`, 4],
    [`local n = 0 for i = 3, 1, -1 do n = n * 10 + i if i == 2 then break end end return n`, 32],
    [`local n = '' for _, one in ipairs({'a', 'b'}) do n = n .. one end return n`, 'ab'],
    [`local t = {b = 1} for key, value in pairs(t) do return key .. value end`, 'b1'],
    [`return {ARGV[1] * 1000 + 1, 7 % 5, -7 % 5, '10' + 1}`, [5001, 2, 3, 11]],
    [`return (ARGV[2] or 'none') .. (false and 'a' or 'b')`, 'noneb'],
    [`return string.format('%d', 1790000000000001)`, '1790000000000001'],
    [
      `local t = {'a', 2, 'c'} return {table.concat(t), table.concat(t, ' ', 2, 3)}`,
      ['a2c', '2 c'],
    ],
    [`return string.format('%.0f %06d %.3f', 1e15, '42', 2.5)`, '1000000000000000 000042 2.500'],
    [
      `return {string.sub('abc', 2), string.sub('abc', 1, -2), string.sub('abc', -1)}`,
      ['bc', 'ab', 'c'],
    ],
    [`return {string.find('a.b', '.', 1, true)}`, [2, 2]],
    [`return string.match('a]b', '^[^%]]*')`, 'a'],
    [`return 1.5 .. ' ' .. 10 / 2`, '1.5 5'],
    [`return redis.call('GET', 1, 0.1 + 0.2)`, ['GET', '1', '0.30000000000000004']],
    [`return redis.pcall('FAIL').err`, 'ERR failed'],
    [`local function f(...) return {...} end return f(redis.call('A'), 'b')[2]`, 'b'],
  ])('runs %s', (source, result) => {
    expect(run(source, '5')).toEqual(result);
  });

  it('ends with the error of a command', () => {
    const reply = run(`redis.call('FAIL') return 1`);
    expect(reply).toBeInstanceOf(Failure);
    expect(String(reply)).toStartWith('Error: ERR failed script: sha');
  });

  it.each([
    `x = 1`,
    `local t = {['a'] = 1}`,
    `goto away`,
    `return t:method()`,
    `for a in f() do end`,
  ])('refuses %s, which no script of the engine has', (source) => {
    expect(() => run(source)).toThrow('the model cannot read line 1');
  });
});
