import { countOf, type Invocation, printResult } from '../../invocation.ts';
import { JSON_OPTION, type Option, operandsOf } from '../../options.ts';
import type { ExitCode } from '../../output.ts';
import { pushBackendOf } from './push-backend.ts';
import { PUSH_LISTENER_OPTIONS } from './transfer-options.ts';

export const DEVICES_UNDO_IMPORT_OPTIONS: readonly Option[] = [
  { name: 'dry-run', help: 'Count the devices without removing them.' },
  ...PUSH_LISTENER_OPTIONS,
  JSON_OPTION,
];

/** `fanfare devices undo-import`: removes the devices of an import that no SDK has registered since. */
export async function undoImport(invocation: Invocation): Promise<ExitCode> {
  const [instance, name] = operandsOf(invocation.given, ['INSTANCE', 'NAME']);
  const backend = await pushBackendOf(invocation, instance);
  if (backend === undefined) return 2;
  const path = `/imports/${encodeURIComponent(name)}`;
  const dryRun = invocation.given.has('dry-run');
  let devices = 0;
  if (dryRun) {
    devices = Number((await backend.ask('GET', path))['devices']);
  } else {
    for (let more = true; more; ) {
      const answer = await backend.ask('DELETE', path);
      devices += Number(answer['removed']);
      more = answer['more'] === true;
    }
  }
  const count = `${countOf(devices, 'device')} of the import ${name}`;
  return printResult(invocation, {
    json: { import: name, devices, dryRun },
    text: dryRun ? `${count} would be removed.` : `${count} removed.`,
  });
}
