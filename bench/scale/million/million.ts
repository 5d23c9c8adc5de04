import { loadavg } from 'node:os';
import { countOf, UsageError } from '../../options.ts';
import { whole } from '../../report.ts';
import { pinned, scaleCommand } from '../command.ts';
import { sizeFor } from '../size.ts';
import { evidenceOf, isHeld, type MeasuredMillion, printMillion } from './figures.ts';
import { measureMillion } from './measure.ts';
import { inUserModeLinux } from './user-mode-linux.ts';

/** `npm run bench -- million`: one server, and as many silent subscribers as the machine can hold. */

/** Below this, a tenth says nothing. */
const LEAST = 1000;

export const million = scaleCommand({
  name: 'million',
  about: `One server with very many silent subscribers, each of one of 1,000 channels, from source addresses 127.x.y.9, 10,000 each.
At each tenth of them: new connections per second, and the memory of the server, of the kernel and of the clients. Then one
event to everybody, and the list of channels. Meanwhile a client measures how long its frames wait for the event loop. Ends by
itself when less than 4 GiB of memory are available. The server pings nobody meanwhile. It needs channels.maxConnections,
channels.maxSubscriptions and open files for as many: the first two are set, and the output names what open files need.`,
  options: {
    connections: { type: 'string', default: '1000000' },
    'in-uml': { type: 'boolean', default: false },
    'dollars-per-core-hour': { type: 'string' },
  },
  help: [
    [
      '--connections N',
      '(1000000) fewer if open files or memory do not suffice; the output says which',
    ],
    [
      '--in-uml',
      'in user-mode Linux, where a process may have as many open files as it needs; on one virtual core,',
    ],
    ['', "some 30 times slower. Debian's package is user-mode-linux"],
    ['--dollars-per-core-hour D', 'also print what a million deliveries cost'],
  ],
  async measure(values, record) {
    const asked = countOf(values.connections, { option: '--connections', min: LEAST });
    const dollarsPerCoreHour = dollarsOf(values['dollars-per-core-hour']);
    const inUml = values['in-uml'];
    // Of this machine: user-mode Linux has a load of its own.
    const load = loadavg()[0] ?? 0;
    const measured = inUml
      ? await inUserModeLinux(asked, dollarsPerCoreHour)
      : await measure(asked, dollarsPerCoreHour);
    const figures = { ...measured, load };
    record(evidenceOf(figures, { asked, inUml }));
    return { figures, isHeld: isHeld(figures) };
  },
});

function dollarsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const dollars = Number(text);
  if (dollars > 0) return dollars;
  throw new UsageError('--dollars-per-core-hour takes a number above 0');
}

async function measure(
  asked: number,
  dollarsPerCoreHour: number | undefined,
): Promise<MeasuredMillion> {
  const pinning = pinned();
  const size = sizeFor(asked);
  console.log(`${whole(size.connections)} connections: ${size.why}`);
  if (size.connections < LEAST) throw new Error('so few show nothing');
  const figures = await measureMillion(pinning, size, dollarsPerCoreHour);
  console.log(`\n${printMillion(figures)}`);
  return figures;
}
