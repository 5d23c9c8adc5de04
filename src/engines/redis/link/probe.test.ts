import { expect, it } from 'bun:test';
import { ALL_SCRIPTS } from '../scripts/all-scripts.ts';
import { PROBE, refusalIn } from './probe.ts';

it('calls every command that a script of the engine calls', () => {
  const called = ALL_SCRIPTS.flatMap(({ source }) =>
    Array.from(source.matchAll(/\bcall\('(\w+)'/g), ([, name = '']) => name),
  );
  const tried = Array.from(PROBE.source.matchAll(/\btry\('(\w+)'/g), ([, name = '']) => name);
  expect([...new Set(tried)].toSorted()).toEqual([...new Set(called)].toSorted());
});

it('is read as what Redis said, with the commands that it refused', () => {
  expect(refusalIn(['ok'])).toBeUndefined();
  const where = `script: ${'0f'.repeat(20)}, on @user_script:7.`;
  expect(
    refusalIn(['refused', `NOREPLICAS Not enough good replicas to write. ${where}`, 'SET', 'DEL']),
  ).toBe('NOREPLICAS Not enough good replicas to write. (SET, DEL)');
  const many = Array.from({ length: 10 }, (_, n) => `C${n}`);
  expect(refusalIn(['refused', 'OOM full', ...many])).toBe(
    'OOM full (C0, C1, C2, C3, C4, C5, C6, C7 and 2 more commands)',
  );
  expect(refusalIn('?')).toBe('Redis has answered something else');
});
