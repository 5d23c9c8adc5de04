import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { parseNice } from './priority.ts';

const SCRIPT = `
  import { readFileSync } from 'node:fs';
  import { goFirst } from ${JSON.stringify(join(import.meta.dir, 'priority.ts'))};
  console.log(goFirst());
  console.log(readFileSync('/proc/self/autogroup', 'latin1').trim());
`;

it('reads the nice value of a session', () => {
  expect(parseNice('/autogroup-12533 nice 0\n')).toBe(0);
  expect(parseNice('/autogroup-7 nice -20\n')).toBe(-20);
  expect(() => parseNice('')).toThrow('it says ""');
});

it('takes precedence if the system allows it, until it has ended', async () => {
  // A session of its own: that of the tests keeps what it has.
  const session = Bun.spawn(
    ['sh', '-c', `"$0" -e "$1"; cat /proc/self/autogroup`, process.execPath, SCRIPT],
    { detached: true, stdout: 'pipe' },
  );
  const [said = '', during = '', after = ''] = (await session.stdout.text()).split('\n');
  if (said === 'before all other sessions') {
    expect([parseNice(during), parseNice(after)]).toEqual([-20, 0]);
  } else {
    // A kernel without such priorities, or a user without the right to them.
    expect(said).toStartWith('no priority: others may disturb it (');
  }
});
