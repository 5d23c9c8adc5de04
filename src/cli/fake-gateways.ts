import type { FakeGatewaysOptions } from '../fake-gateways/start.ts';
import { printable } from '../runtime/logging/printable.ts';
import type { Invocation } from './invocation.ts';
import { type Arguments, JSON_OPTION, noOperand, type Option } from './options.ts';
import { type ExitCode, UsageError } from './output.ts';
import { stopSignal } from './serving/signals.ts';

const DIRECTORY = 'data/fake-gateways';
const HOST = '127.0.0.1';
const PORTS = {
  control: { option: 'port', fallback: 6010, of: 'interface for tests' },
  apns: { option: 'apns-port', fallback: 6011, of: 'stand-in for APNs' },
  fcm: { option: 'fcm-port', fallback: 6012, of: 'stand-in for FCM' },
  web: { option: 'web-port', fallback: 6013, of: 'stand-in for browser push services' },
} as const;

export const FAKE_GATEWAYS_OPTIONS: readonly Option[] = [
  {
    name: 'host',
    value: 'HOST',
    help: `The host that they listen on and are reached by: a name or an IPv4 address. Default: ${HOST}.`,
  },
  ...Object.values(PORTS).map(({ option, fallback, of }) => ({
    name: option,
    value: 'PORT',
    help: `The port of the ${of}. Default: ${fallback}.`,
  })),
  {
    name: 'directory',
    value: 'DIRECTORY',
    help: `The directory for keys and the certificate. Default: ${DIRECTORY}.`,
  },
  JSON_OPTION,
];

type Received = Parameters<FakeGatewaysOptions['onReceived']>[0];

/** `fanfare fake-gateways`: runs stand-ins for the gateways and prints what they receive, until a signal. */
export async function fakeGateways({ given, output }: Invocation): Promise<ExitCode> {
  noOperand(given);
  // Loaded only here: a server starts faster without it.
  const { startFakeGateways } = await import('../fake-gateways/start.ts');
  const signals = stopSignal();
  const asJson = given.has('json');
  await using gateways = await startFakeGateways({
    host: readHost(given),
    ports: {
      control: readPort(given, PORTS.control),
      apns: readPort(given, PORTS.apns),
      fcm: readPort(given, PORTS.fcm),
      web: readPort(given, PORTS.web),
    },
    directory: given.value('directory') ?? DIRECTORY,
    onReceived: (received) =>
      output.print(asJson ? JSON.stringify({ received }) : lineOf(received)),
  });
  const { controlUrl, settings } = gateways;
  output.print(
    asJson
      ? JSON.stringify({ controlUrl, settings })
      : [
          `For tests  ${controlUrl}/received, /script, /subscriptions, /settings`,
          '',
          'Give these settings to an instance in the configuration of a server, and start it:',
          '',
          JSON.stringify(settings, undefined, 2),
          '',
          'Notifications that arrive are shown here. Nothing leaves this machine.',
          '',
        ].join('\n'),
  );
  await signals.first;
  return 0;
}

/** One notification as one line. */
function lineOf({ gateway, atMs, to, status, reason, message }: Received): string {
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

interface PortOption {
  readonly option: string;
  readonly fallback: number;
}

function readPort(given: Arguments, { option, fallback }: PortOption): number {
  const text = given.value(option) ?? String(fallback);
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new UsageError(`--${option} must be a port from 0 to 65535`);
  }
  return port;
}
