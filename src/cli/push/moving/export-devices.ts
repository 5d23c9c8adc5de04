import { closeSync, openSync, writeSync } from 'node:fs';
import { messageOf } from '../../../runtime/error-code.ts';
import { countOf, type Invocation, printResult } from '../../invocation.ts';
import { JSON_OPTION, type Option, operandsOf } from '../../options.ts';
import { type ExitCode, UsageError } from '../../output.ts';
import { pushBackendOf } from './push-backend.ts';
import { PUSH_LISTENER_OPTIONS } from './transfer-options.ts';

/** Devices of one answer. */
const PAGE = 1_000;

export const DEVICES_EXPORT_OPTIONS: readonly Option[] = [...PUSH_LISTENER_OPTIONS, JSON_OPTION];

/** `fanfare devices export`: writes all devices of an instance, with their tokens, to a file that only its owner may read. */
export async function exportDevices(invocation: Invocation): Promise<ExitCode> {
  const [instance, file] = operandsOf(invocation.given, ['INSTANCE', 'FILE']);
  const backend = await pushBackendOf(invocation, instance);
  if (backend === undefined) return 2;
  const descriptor = openNew(file);
  using cleanup = new DisposableStack();
  cleanup.defer(() => closeSync(descriptor));
  let devices = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(after !== '' && { after }) });
    const page = await backend.ask('GET', `/devices?${query}`);
    const rows: readonly unknown[] = Array.isArray(page['devices']) ? page['devices'] : [];
    writeSync(descriptor, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    devices += rows.length;
    after = typeof page['next'] === 'string' ? page['next'] : undefined;
  }
  return printResult(invocation, {
    json: { instance: backend.instance, devices, file },
    text: `${countOf(devices, 'device')} written to ${file}. Who has it can send to them: keep it secret.`,
  });
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`${file} cannot be created: ${messageOf(error)}`);
  }
}
