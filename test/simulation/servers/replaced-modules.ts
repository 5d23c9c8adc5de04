import { join } from 'node:path';
import { plugin } from 'bun';
import { replaceGlobals } from '../kernel/globals.ts';
import { ModelledChannel } from '../network/message-ports.ts';
import { modelledServe } from '../network/serve.ts';

/** A module of the server, and what stands in for it. */
export interface ReplacedModule {
  readonly module: RegExp;
  readonly text: string;
}

/** The modules of the server that start a thread or ask the kernel of this machine. */
const replaced: readonly ReplacedModule[] = [
  {
    module: /\/src\/node\/realtime\/realtime-thread\.ts$/,
    text: `export { ModelledThread as RealtimeThread } from ${JSON.stringify(join(import.meta.dir, 'modelled-thread.ts'))};`,
  },
  {
    module: /\/src\/node\/link\/take-posted\.ts$/,
    text: 'export const takePosted = (port) => port.takePosted();',
  },
  {
    // As on a system that does not tell its limits.
    module: /\/src\/node\/open-files\.ts$/,
    text: `
      export const RAISE_LIMIT = '';
      export const areFew = () => false;
      export const readOpenFiles = () => undefined;
      export const shareOpenFiles = () => undefined;
      export const countOpenFiles = () => 0;
    `,
  },
];

/** Replaces what a server has of the runtime, and more modules. Called before any of it is imported. */
export function replaceRuntime(more: readonly ReplacedModule[] = []): void {
  replaceGlobals();
  Object.assign(globalThis, { MessageChannel: ModelledChannel });
  Object.assign(Bun, { serve: modelledServe });
  plugin({
    name: 'simulation',
    setup(build) {
      for (const { module, text } of [...replaced, ...more]) {
        build.onLoad({ filter: module }, () => ({ contents: text, loader: 'ts' }));
      }
    },
  });
}
