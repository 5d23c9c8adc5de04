import { join } from 'node:path';

const SOURCES = join(import.meta.dir, '../../../sdk/fanfare-js/src');

const from = (file: string) => JSON.stringify(join(SOURCES, file));

/** The entry of the package for each place where the specs run. */
const ENTRIES = { web: 'entries/browser.ts', node: 'entries/node.ts' } as const;

export type SpecPlace = keyof typeof ENTRIES;

/**
 * By module of pusher-js, which module takes its place when its specs run with `fanfare-js`. All others stay: they are helpers of
 * the specs, such as requests by scripts, which need some more of the runtime, and defaults that the specs change.
 */
export function modulesOf(place: SpecPlace): Readonly<Record<string, string>> {
  const client = `import Client from ${from(ENTRIES[place])};`;
  const scripts =
    place === 'web'
      ? `import ScriptRequest from 'dom/script_request';`
      : 'const ScriptRequest = undefined;';
  const runtime = `
    ${client}
    ${scripts}
    const { createWebSocket } = Client.Runtime;
    export default Object.assign(Client.Runtime, {
      createWebSocket: (url) => createWebSocket(globalThis.specUrl?.(url) ?? url),
      createScriptRequest: (src) => new ScriptRequest(src),
      isXHRSupported: () => true,
      isXDRSupported: () => false,
      getLocalStorage: () => undefined,
      getDocument: () => document,
    });`;
  const network = `
    ${client}
    export const Network = Object.assign(Client.Runtime.getNetwork(), { isOnline: () => true });`;
  const receivers =
    place === 'web'
      ? `import { ScriptReceivers } from 'dom/script_receiver_factory';`
      : 'const ScriptReceivers = undefined;';
  return {
    'core/pusher': `
      ${client}
      import Defaults from 'core/defaults';
      ${receivers}
      export default class extends Client {
        static ScriptReceivers = ScriptReceivers;
        constructor(key, options) {
          const { authTransport, authEndpoint } = Defaults;
          super(key, { authTransport, authEndpoint, ...options });
        }
      }`,
    [`runtimes/${place}/runtime`]: runtime,
    [`runtimes/${place}/net_info`]: network,
    'core/events/dispatcher': `export { default } from ${from('emitter.ts')};`,
    'core/errors': `
      export * from 'original/core/errors';
      export { BadChannelName, BadEventName, HTTPAuthError, UnsupportedFeature } from ${from('errors.ts')};`,
    'core/logger': `export { default } from ${from('log.ts')};`,
    'core/channels/channel': `export { default } from ${from('channels/channel.ts')};`,
    'core/channels/private_channel': `export { default } from ${from('channels/private-channel.ts')};`,
    'core/channels/presence_channel': `export { default } from ${from('channels/presence-channel.ts')};`,
    'core/channels/encrypted_channel': `export { default } from ${from('channels/encrypted-channel.ts')};`,
    'core/channels/members': `export { default } from ${from('channels/members.ts')};`,
  };
}
