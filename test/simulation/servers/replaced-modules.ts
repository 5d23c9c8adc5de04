import { join } from 'node:path';
import { plugin } from 'bun';
import { replaceGlobals } from '../kernel/globals.ts';
import { ModelledChannel } from '../network/message-ports.ts';
import { modelledServe } from '../network/serve.ts';

/** The modules of the server that start a thread or ask the kernel of this machine, and what stands in for each. */
const replaced: readonly { readonly module: RegExp; readonly text: string }[] = [
  {
    module: /\/src\/node\/realtime\/realtime-thread\.ts$/,
    text: `export { ModelledThread as RealtimeThread } from ${JSON.stringify(join(import.meta.dir, 'modelled-thread.ts'))};`,
  },
  {
    // As on a system that does not tell its limits.
    module: /\/src\/node\/open-files\.ts$/,
    text: `
      export const RAISE_LIMIT = '';
      export const areFew = () => false;
      export const readOpenFiles = () => undefined;
      export const countOpenFiles = () => 0;
    `,
  },
];

/** Replaces what a server has of the runtime. Called before any of it is imported. */
export function replaceRuntime(): void {
  replaceGlobals();
  Object.assign(globalThis, { MessageChannel: ModelledChannel });
  Object.assign(Bun, { serve: modelledServe });
  plugin({
    name: 'simulation',
    setup(build) {
      for (const { module, text } of replaced) {
        build.onLoad({ filter: module }, () => ({ contents: text, loader: 'ts' }));
      }
    },
  });
}
