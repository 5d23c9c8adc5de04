import type { App } from '../../src/channels/app.ts';

/** Changes settings of an app, whose object stays the same, until the end of the block. */
export function settingsChange(app: App, settings: Partial<App>): Disposable {
  const before = { ...app };
  Object.assign(app, settings);
  return { [Symbol.dispose]: () => void Object.assign(app, before) };
}
