import { ON_REQUEST, UNIT } from './plan.ts';

/** Its scenes are no test files, but a program of their own. */
const FAULTS = { faults: 'npm run test:faults [-- --kills N] [--only TEXT]' };

/** What `npm test -- --help` prints. */
export function help(): string {
  const onRequest = Object.entries({ ...ON_REQUEST, ...FAULTS }).map(([folder, command]) =>
    row(`test/${folder}`, command),
  );
  return `Usage: npm test [-- [OPTION...] [PATH...]]

Runs tests, and exits with 0 if all of them passed. Without a PATH: the unit tests, which are in
${UNIT.slice(0, -1).join(', ')} and ${UNIT.at(-1)}, and then those of test/, which start real servers. It prints what fails,
the failed tests by file, and two sums.

A PATH is a file, a folder, or a part of the paths of files. Where only unit tests are chosen, nothing is built.
  npm test -- src/channels
  npm test -- test/protocol/http test/admin/apps.test.ts
  npm test -- test/protocol/http -t 'a batch'

Options:
${row('--unit', 'only unit tests, which need no program but Bun: npm run unit')}
${row('--matrix', 'clusters; and what clients and backends see on two threads, over HTTP transports and')}
${row('', 'on two servers: npm run test:matrix')}
${row('-t PATTERN', 'only tests whose names match a regular expression')}
${row('--update-timings', 'write to scripts/test-timings.json how long each file took: the slowest start first')}
${row('--bail', 'stop at the first failure')}
Others go to \`bun test\`, with their values after "=".

These run only when they are asked for:
${onRequest.join('\n')}

Environment: TEST_THREADS, TEST_SERVERS, TEST_TRANSPORT, TEST_POOLER, TEST_SEED, TEST_LONG; see CONTRIBUTING.md.`;
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(18)}${text}`;
}
