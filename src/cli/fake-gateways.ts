import { type FakeGatewaysOptions, startFakeGateways } from '../fake-gateways/start.ts';
import { printable } from '../runtime/printable.ts';
import { type Arguments, JSON_OPTION, type Option } from './options.ts';
import { type ExitCode, type Output, UsageError } from './output.ts';
import { stopSignal } from './signals.ts';

const DIRECTORY = 'data/fake-gateways';
const HOST = '127.0.0.1';
const PORTS = { control: 6010, apns: 6011, fcm: 6012, web: 6013 } as const;

export const FAKE_GATEWAYS_OPTIONS: readonly Option[] = [
  {
    name: 'host',
    value: 'HOST',
    help: `Where they listen and how they are reached: a name or an IPv4 address (${HOST}).`,
  },
  { name: 'port', value: 'PORT', help: `Of the interface for tests (${PORTS.control}).` },
  { name: 'apns-port', value: 'PORT', help: `Of the stand-in for APNs (${PORTS.apns}).` },
  { name: 'fcm-port', value: 'PORT', help: `Of the stand-in for FCM (${PORTS.fcm}).` },
  { name: 'web-port', value: 'PORT', help: `Of the stand-in for push services (${PORTS.web}).` },
  {
    name: 'directory',
    value: 'DIRECTORY',
    help: `Where keys and the certificate are kept (${DIRECTORY}).`,
  },
  JSON_OPTION,
];

type Hear = FakeGatewaysOptions['hear'];

/** `fanfare fake-gateways`: runs stand-ins for the gateways, and shows what arrives, until it is told to stop. */
export async function fakeGateways(given: Arguments, output: Output): Promise<ExitCode> {
  const [more] = given.words;
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  const signals = stopSignal();
  const asJson = given.has('json');
  await using gateways = await startFakeGateways({
    host: readHost(given),
    ports: {
      control: readPort(given, 'port', PORTS.control),
      apns: readPort(given, 'apns-port', PORTS.apns),
      fcm: readPort(given, 'fcm-port', PORTS.fcm),
      web: readPort(given, 'web-port', PORTS.web),
    },
    directory: given.value('directory') ?? DIRECTORY,
    hear: (received) => output.print(asJson ? JSON.stringify({ received }) : lineOf(received)),
  });
  const { controlUrl, settings } = gateways;
  output.print(
    asJson
      ? JSON.stringify({ controlUrl, settings })
      : [
          `For tests  ${controlUrl}/received, /script, /subscriptions, /settings`,
          '',
          'Give an instance in the configuration of a server these settings, and start it:',
          '',
          JSON.stringify(settings, undefined, 2),
          '',
          'What arrives is shown here. Nothing leaves this machine.',
          '',
        ].join('\n'),
  );
  await signals.first;
  return 0;
}

/** One notification in one line. */
function lineOf({ gateway, atMs, to, status, reason, message }: Parameters<Hear>[0]): string {
  const time = new Date(atMs).toISOString().slice(11, 23);
  const answer = [status ?? 'no answer', reason].filter((part) => part !== null).join(' ');
  return printable(`${time}  ${gateway.padEnd(4)}  ${answer}  ${to}  ${JSON.stringify(message)}`);
}

function readHost(given: Arguments): string {
  const host = given.value('host') ?? HOST;
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host)) {
    throw new UsageError('--host must be a name or an IPv4 address');
  }
  return host;
}

function readPort(given: Arguments, name: string, usual: number): number {
  const text = given.value(name) ?? String(usual);
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new UsageError(`--${name} must be a port, from 0 to 65535`);
  }
  return port;
}
