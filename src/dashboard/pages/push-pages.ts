import CredentialsPage from './credentials/credentials-page.tsx';
import DevicePage from './devices/device-page.tsx';
import DevicesPage from './devices/devices-page.tsx';
import PublishPage from './publishes/publish-page.tsx';
import PublishesPage from './publishes/publishes-page.tsx';
import UserPage from './user/user-page.tsx';

/** The pages of push instances, and of users, which show the same tables. */
export const pushPages = {
  credentials: CredentialsPage,
  device: DevicePage,
  devices: DevicesPage,
  publish: PublishPage,
  publishes: PublishesPage,
  user: UserPage,
};
