import { MemoryAppDirectory } from '../../src/tenants/app-directory.ts';
import { appDirectoryContract } from './tenants/app-directory.contract.ts';

appDirectoryContract('MemoryAppDirectory', () => {
  const directory = new MemoryAppDirectory();
  return { directory, replace: (apps) => void directory.replace(apps) };
});
