import type { Operation } from '../../../admin/operation.ts';
import { isObject } from '../../../config/settings/plain-json.ts';
import { printable } from '../../../runtime/logging/printable.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { OperationCall } from './operation-call.ts';

/** Logs a change: ids and names of settings, but no values, because some are secret. */
export function logChange(
  log: Log,
  { logLine }: Operation,
  { call, answer }: { readonly call: OperationCall; readonly answer: unknown },
): void {
  if (logLine === undefined) return;
  const fields = isObject(answer) ? answer : {};
  log.info(logLine.message, {
    [logLine.subject]: call.path.of('id') || textOf(fields['id']),
    // The key of an app is public; that of an instance is a secret.
    key: logLine.subject === 'app' ? call.path.of('key') || textOf(fields['key']) : undefined,
    settings: isObject(call.body) ? textOf(Object.keys(call.body).join(', ')) : undefined,
    by: 'admin-api',
    who: call.caller.user ?? undefined,
    address: call.sender.address,
  });
}

interface RefusedChange {
  readonly call: OperationCall;
  readonly status: number;
  /** The app, instance or webhook that it was meant for, if that exists. */
  readonly subject: string | undefined;
}

/**
 * Logs a change that was answered with an error. It may still have been made, if only the answer failed. Names no
 * tenant that the caller could make up: each would have a share of the log's room.
 */
export function logRefusedChange(
  log: Log,
  { logLine, id }: Operation,
  { call, status, subject }: RefusedChange,
): void {
  if (logLine === undefined) return;
  log.info('Change refused', {
    operation: id,
    [logLine.subject]: subject,
    status,
    by: 'admin-api',
    who: call.caller.user ?? undefined,
    address: call.sender.address,
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? printable(value) : undefined;
}
