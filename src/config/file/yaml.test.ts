import { describe, expect, it } from 'bun:test';
import { readYaml } from './yaml.ts';

const contentOf = (text: string) => {
  const read = readYaml(text);
  if (!read.ok) throw new Error(read.why);
  return read.value;
};
const faultOf = (text: string) => {
  const read = readYaml(text);
  return read.ok ? undefined : read.why;
};

describe('a YAML text', () => {
  it.each([
    ['a: 1\nb: 2\na: 3', 'line 3, column 1: a is set for the second time'],
    ['a: {b: 1, b: 2}', 'line 1, column 11: b is set for the second time'],
    ['x:\n  - a: 1\n    "a": 2', 'line 3, column 5: a is set for the second time'],
    ['1: a\n"1": b', 'line 2, column 1: 1 is set for the second time'],
    ['"my secret": 1\n"my secret": 2', 'line 2, column 1: this name is set for the second time'],
  ])('that sets a name twice is refused with its place: %j', (text, why) => {
    expect(faultOf(text)).toBe(why);
  });

  it('keeps ids as they are written, and numbers elsewhere as numbers', () => {
    const ids = ['007', '7e3', '0x10', '+7', '1.0', '0o17', '12345678901234567890'];
    for (const id of ids) expect(contentOf(`id: ${id}`)).toEqual({ id });
    expect(contentOf('- id: 7\n- port: 0x10\n- ratio: 1.50')).toEqual([
      { id: 7 },
      { port: 16 },
      { ratio: 1.5 },
    ]);
  });

  it('may use aliases and merge keys', () => {
    expect(contentOf('a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: *x')).toEqual({
      a: { b: 1 },
      c: { b: 1, d: 2 },
      e: { b: 1 },
    });
    expect(faultOf('a: *hunter2')).toStartWith('an alias (*) names no anchor');
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (const [of, name] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg']) {
      bomb.push(`${name}: &${name} [${Array(9).fill(`*${of}`).join(',')}]`);
    }
    expect(faultOf(bomb.join('\n'))).toStartWith('an alias (*) names no anchor');
  });

  it('that is empty is an empty object, and several documents are a list', () => {
    for (const text of ['', '# nothing\n', '---\n']) expect(contentOf(text)).toEqual({});
    expect(contentOf('a: 1\n---\nb: 2')).toEqual([{ a: 1 }, { b: 2 }]);
  });
});
