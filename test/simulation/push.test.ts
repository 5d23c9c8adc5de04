import { worldTests } from './world-tests.ts';

worldTests('push', {
  long: 25_000,
  deliveries: 0,
  sabotages: { neither: 'live', both: 'live', 'double-push': 'pushes', 'lose-push': 'pushes' },
});
