import { expect, it } from 'bun:test';
import { readPs } from './programs.ts';
import { leftBehind } from './run-folder.ts';

const folder = '/dev/shm/fanfare-tests-a1B2c3';

it('ends the servers and the Firefox of its own run, and nothing else', () => {
  const commands = [
    `bun src/main.ts serve --config ${folder}/x/fanfare.yaml`,
    `firefox-esr --headless --profile ${folder}/profile`,
    `bun src/main.ts serve --config ${folder}-of-others/fanfare.yaml`,
    'bun src/main.ts serve --config /etc/fanfare/fanfare.yaml',
    `tail -f ${folder}/log`,
    `postgres -D ${folder}/postgres/data`,
    '',
  ];
  const programs = commands.map((command, pid) => ({ pid, command }));
  expect(leftBehind(programs, folder).map(({ pid }) => pid)).toEqual([0, 1]);
});

it('reads what ps says of processes', () => {
  expect(readPs('    1 /sbin/launchd\n 4711 bun serve  --config /a b\n\n')).toEqual([
    { pid: 1, command: '/sbin/launchd' },
    { pid: 4711, command: 'bun serve  --config /a b' },
  ]);
});
