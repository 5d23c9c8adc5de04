import { replaceGlobals } from '../kernel/globals.ts';
import { redisModules } from '../redis/replaced-modules.ts';
import { replaceRuntime } from '../servers/replaced-modules.ts';
import type { World } from './world.ts';

/**
 * All worlds. A loader replaces the globals that its world needs (`kernel/globals.ts`) before it imports the world, and with it
 * the server.
 */
export const worlds: Readonly<Record<string, () => Promise<World>>> = {
  async cluster() {
    replaceRuntime(redisModules);
    return (await import('./cluster/world.ts')).cluster;
  },
  async upgrade() {
    replaceRuntime(redisModules);
    const { upgrade } = await import('./cluster/world.ts');
    const { OldRelease } = await import('../servers/old-release.ts');
    return upgrade(await OldRelease.load());
  },
  async threads() {
    replaceRuntime();
    return (await import('./threads/world.ts')).threads;
  },
  async push() {
    replaceGlobals();
    return (await import('./push/world.ts')).push;
  },
  async store() {
    replaceGlobals();
    return (await import('./store/world.ts')).store;
  },
  async 'every-call'() {
    replaceGlobals();
    return (await import('./store/world.ts')).everyCall;
  },
};
