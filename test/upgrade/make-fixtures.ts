import packageJson from '../../package.json';
import { newDatabases } from '../../testing/databases/databases.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { startAround } from './around.ts';
import { addCertificate, fill, optionsOf, withPassword } from './made-up-data.ts';
import { writeFixture } from './stored-release.ts';

/** `npm run upgrade-fixtures`: writes the stores of the version in `package.json`, from real servers with made-up data. */
for (const { make } of newDatabases) {
  await using store = await make();
  await using around = await startAround();
  const server = await startFanfare(optionsOf(store.url));
  await fill(withPassword(server), around);
  const exitCode = await server.stop();
  if (exitCode !== 0) throw new Error(`Exit code ${exitCode}: ${server.output.stderr}`);
  await server[Symbol.asyncDispose]();
  await addCertificate(store.url);
  console.log(await writeFixture(packageJson.version, store.url, around.places));
}
