import { printable } from '../../runtime/logging/printable.ts';
import { type Invocation, printResult } from '../invocation.ts';
import type { ExitCode } from '../output.ts';
import {
  awayWords,
  type KnownUses,
  keyUsesOf,
  removalWords,
  type ShownKeyUses,
  usedWords,
} from './key-uses.ts';
import type { TenantCall } from './tenant-command.ts';

interface Named {
  readonly noun: 'app' | 'instance';
  readonly id: string;
}

interface Listing {
  storedTenants(): Promise<readonly { readonly id: string }[]>;
}

/**
 * Prints the keys of a tenant that only the configuration has, as the running server lists them. Returns `undefined` if the
 * store has the tenant, or no server can be asked.
 */
export async function printConfigured(
  call: TenantCall<Listing>,
  { known }: ShownKeyUses,
  { noun, id }: Named,
): Promise<ExitCode | undefined> {
  const place = [...call.places].find(([configured]) => configured.toLowerCase() === id)?.[1];
  if (known === undefined || place === undefined) return undefined;
  if ((await call.admin.storedTenants()).some((stored) => stored.id === id)) return undefined;
  return printKeys(call, known, printable(`The ${noun} ${id} is configured in ${place}.`));
}

function printKeys(call: Invocation, known: KnownUses, title: string): ExitCode {
  const names = known.keys.map(({ key }) => key);
  const words = usedWords({ known }, names);
  const lines = names.flatMap((key, place) => [`  key   ${key}`, `  used  ${words[place]}`]);
  const text = [title, ...lines.map(printable), ...awayWords({ known })].join('\n');
  return printResult(call, { json: { keyUses: known }, text });
}

/** Says when the key at a place, which is about to be removed, was last used. */
export async function sayLastUse(
  call: TenantCall<unknown>,
  { noun, id }: Named,
  { names, place }: { readonly names: readonly string[]; readonly place: number },
): Promise<void> {
  if (place < 0) return;
  const uses = await keyUsesOf(call, noun, id);
  call.output.complain(removalWords(uses, names, place));
  for (const line of awayWords(uses)) call.output.complain(line);
}
