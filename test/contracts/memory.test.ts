import { MemoryEventCache } from '../../src/engines/memory/event-cache.ts';
import { MemoryRoster } from '../../src/engines/memory/roster.ts';
import { MemoryUserRoster } from '../../src/engines/memory/user-roster.ts';
import { MemoryAppDirectory } from '../../src/tenants/app-directory.ts';
import { eventCacheContract } from './event-cache.contract.ts';
import { rosterContract } from './roster.contract.ts';
import { appDirectoryContract } from './tenants/app-directory.contract.ts';
import { userRosterContract } from './user-roster.contract.ts';

rosterContract('MemoryRoster', async () => new MemoryRoster());
userRosterContract('MemoryUserRoster', async () => new MemoryUserRoster());
eventCacheContract('MemoryEventCache', async (clock) => new MemoryEventCache(clock));
appDirectoryContract('MemoryAppDirectory', () => {
  const directory = new MemoryAppDirectory();
  return { directory, replace: (apps) => void directory.replace(apps) };
});
