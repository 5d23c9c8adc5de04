import { afterEach, expect, it, spyOn } from 'bun:test';
import { UsageError } from '../options.ts';
import { scaleCommand } from './command.ts';

const printed = spyOn(console, 'log');
afterEach(() => printed.mockReset());

const measured: unknown[] = [];
const command = (isHeld?: boolean) =>
  scaleCommand({
    name: 'thing',
    about: 'Measures a thing.',
    options: { size: { type: 'string', default: '3' }, quick: { type: 'boolean', default: false } },
    help: [['--size N', '(3)']],
    async measure({ size, quick }, record) {
      measured.push([size, quick]);
      record({ section: 'scale', name: 'thing', command: '', result: 'measured', figures: {} });
      return { figures: {}, ...(isHeld === undefined ? {} : { isHeld }) };
    },
  });

it('gives each command its own options, and says by the exit code whether it is held', async () => {
  expect(await command()(['--size', '4'])).toBe(0);
  expect(await command(false)(['--quick'])).toBe(1);
  expect(measured.splice(0)).toEqual([
    ['4', false],
    ['3', true],
  ]);
  await expect(command()(['--sizes', '4'])).rejects.toThrow(UsageError);
});

it('lists its own options and those of all commands in the help, and measures nothing', async () => {
  printed.mockImplementation(() => undefined);
  expect(await command()(['--help'])).toBe(0);
  expect(measured).toEqual([]);
  expect(printed.mock.calls).toEqual([
    [
      `Measures a thing.

npm run bench -- thing [options]

  --size N     (3)
  --json FILE  also write the results to this file
  --record     keep the results in bench/evidence
  --help       print this`,
    ],
  ]);
});
