import type { Operation } from '../../admin/operation.ts';
import { isObject } from '../../config/plain-json.ts';
import type { Log } from '../../runtime/ports.ts';
import { printable } from '../../runtime/printable.ts';
import type { AdminCall } from '../../transports/admin/routes.ts';

/** Logs who has changed what: ids and the names of settings, but no values, since some are secrets. */
export function logChange(
  log: Log,
  { logLine }: Operation,
  { call, answer }: { readonly call: AdminCall; readonly answer: unknown },
): void {
  if (logLine === undefined) return;
  const made = isObject(answer) ? answer : {};
  log.info(logLine.message, {
    [logLine.subject]: call.path['id'] ?? String(made['id']),
    // Of an app, a key is public; of an instance, it is the secret.
    key: logLine.subject === 'app' ? (call.path['key'] ?? textOf(made['key'])) : undefined,
    settings: isObject(call.body) ? textOf(Object.keys(call.body).join(', ')) : undefined,
    by: 'admin-api',
    address: call.address,
  });
}

/** The change may have been made all the same, where only its answer could not be. */
export function logRefusedChange(
  log: Log,
  { logLine, id }: Operation,
  { call, status }: { readonly call: AdminCall; readonly status: number },
): void {
  if (logLine === undefined) return;
  log.info('Change refused', {
    operation: id,
    [logLine.subject]: textOf(call.path['id']),
    status,
    by: 'admin-api',
    address: call.address,
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? printable(value) : undefined;
}
