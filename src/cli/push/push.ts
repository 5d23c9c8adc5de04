import type { Config } from '../../config/schema.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option, serverUrl } from '../options.ts';
import { type ExitCode, type Output, UsageError } from '../output.ts';
import { ownAddress } from '../own-address.ts';
import { readConfig } from '../read-config.ts';
import { type InstanceKey, instanceKeys } from '../tenants/instance-keys.ts';
import { PushApi } from './push-api.ts';
import {
  describeStatus,
  describeTimeline,
  deviceTimeline,
  publishPauses,
  publishStatus,
} from './shown-publish.ts';

const FORGOTTEN = 'A publish is known for 30 days.';

export const PUSH_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The push listener of a running server; otherwise the one of the configuration, on this machine.',
  },
  {
    name: 'instance',
    value: 'ID',
    help: 'The instance of the publish; otherwise those of the configuration and the store are tried.',
  },
  {
    name: 'secret-key',
    value: 'KEY',
    help: 'A secret key of that instance; otherwise it is read from the configuration or the store.',
  },
  CONFIG_OPTION,
  JSON_OPTION,
];

/** `fanfare push status`: what has become of a publish. */
export async function showPublish(given: Arguments, output: Output): Promise<ExitCode> {
  const { publishId } = operandsOf(given, 'of-all');
  const config = readConfig(given.value('config'), output);
  if (config === undefined) return 2;
  return await show(config, given, output, publishId, '', async (body, instance) => {
    const status = publishStatus.safeParse(body);
    if (!status.success) return undefined;
    const pauses = await pausesOf(apiOf(config, given), instance, publishId);
    return describeStatus(status.data, pauses, instance.id);
  });
}

/** What devices wait for is told where the server can say it. */
async function pausesOf(api: PushApi, instance: InstanceKey, publishId: string) {
  const path = `/publishes/${encodeURIComponent(publishId)}/pauses`;
  const answer = await api.get(instance, path);
  const pauses = answer.result === 'answered' ? publishPauses.safeParse(answer.body) : undefined;
  return pauses?.success === true ? pauses.data.pauses : [];
}

/** `fanfare push explain`: why one device did or did not get a publish. */
export async function explainDevice(given: Arguments, output: Output): Promise<ExitCode> {
  const { publishId, deviceId } = operandsOf(given, 'of-device');
  const config = readConfig(given.value('config'), output);
  if (config === undefined) return 2;
  const path = `/devices/${encodeURIComponent(deviceId)}`;
  return await show(config, given, output, publishId, path, (body, { id }) => {
    const timeline = deviceTimeline.safeParse(body);
    return timeline.success ? describeTimeline(timeline.data, publishId, id) : undefined;
  });
}

/** Asks for something of a publish, and prints it. `described` gives `undefined` for what cannot be understood. */
async function show(
  config: Config,
  given: Arguments,
  output: Output,
  publishId: string,
  path: string,
  described: (
    body: unknown,
    instance: InstanceKey,
  ) => string | undefined | Promise<string | undefined>,
): Promise<ExitCode> {
  const api = apiOf(config, given);
  const found = await find(api, keysOf(config, given), publishId, path);
  if (!found.ok) {
    output.complain(`fanfare: ${found.why}`);
    return 1;
  }
  const text = await described(found.body, found.instance);
  if (text === undefined)
    throw new Error(`${api.shown} answers what a Fanfare of another version says`);
  output.print(given.has('json') ? JSON.stringify(found.body) : text);
  return 0;
}

type Found =
  | { readonly ok: true; readonly body: unknown; readonly instance: InstanceKey }
  | { readonly ok: false; readonly why: string };

/** Asks in the name of one instance after the other, until one has the publish. */
async function find(
  api: PushApi,
  keys: AsyncIterable<InstanceKey>,
  publishId: string,
  path: string,
): Promise<Found> {
  const asked: string[] = [];
  const unauthorised: string[] = [];
  for await (const instance of keys) {
    const answer = await api.get(instance, `/publishes/${encodeURIComponent(publishId)}${path}`);
    asked.push(instance.id);
    if (answer.result === 'answered') return { ok: true, body: answer.body, instance };
    if (answer.result === 'unauthorised') unauthorised.push(instance.id);
    // It is looked for only where the publish is.
    else if (answer.what === 'Device not found') return { ok: false, why: answer.description };
  }
  return { ok: false, why: whyNotFound(api, publishId, asked, unauthorised) };
}

function whyNotFound(
  { shown }: PushApi,
  publishId: string,
  asked: readonly string[],
  unauthorised: readonly string[],
): string {
  if (asked.length === 0) {
    return 'neither the configuration nor the store has such an instance; give --instance and --secret-key';
  }
  if (unauthorised.length > 0) {
    return `${shown} refuses the secret key of ${unauthorised.join(', ')}, so that publishes of it cannot be seen`;
  }
  return `${shown} knows no publish ${publishId} of ${asked.join(', ')}. ${FORGOTTEN}`;
}

function apiOf({ push, tls }: Config, given: Arguments): PushApi {
  const url = serverUrl(given, 'http://127.0.0.1:6002');
  if (url !== undefined) return new PushApi(url, false);
  if (push.port === 0) {
    throw new UsageError('push.port is 0, so nobody knows where the server listens; give --url');
  }
  return new PushApi(ownAddress(push, tls.certFile !== null), true);
}

async function* keysOf(config: Config, given: Arguments): AsyncGenerator<InstanceKey> {
  const id = given.value('instance')?.toLowerCase();
  const secretKey = given.value('secret-key');
  if (secretKey !== undefined) {
    if (id === undefined)
      throw new UsageError('--secret-key is of which instance? Give --instance');
    yield { id, secretKey };
    return;
  }
  for await (const key of instanceKeys(config)) {
    if (id === undefined || key.id === id) yield key;
  }
}

function operandsOf(
  { words: [publishId = '', ...others] }: Arguments,
  ofDevice: 'of-device' | 'of-all',
): { readonly publishId: string; readonly deviceId: string } {
  if (publishId === '') throw new UsageError('which publish? Its id is missing');
  if (!publishId.startsWith('pubid-')) {
    throw new UsageError(`the id of a publish begins with pubid-, so "${publishId}" is none`);
  }
  const [deviceId = '', ...more] = ofDevice === 'of-device' ? others : ['', ...others];
  if (ofDevice === 'of-device' && deviceId === '') {
    throw new UsageError('which device? Its id is missing');
  }
  if (more[0] !== undefined) throw new UsageError(`unexpected "${more[0]}"`);
  return { publishId, deviceId };
}
