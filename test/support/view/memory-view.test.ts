import { describeAdoption } from './adopt-suite.ts';
import { describeDatasets } from './datasets/view-suite.ts';
import { describeExpired } from './expired-suite.ts';
import { createMemoryView, type MemoryFiles, type MemoryState } from './memory-view.ts';
import { describeView, type ViewFixture } from './view-suite.ts';

function fixture(state?: MemoryState): ViewFixture {
  const files: MemoryFiles = new Map();
  const view = createMemoryView(state, files);
  const fileOf = (content: Uint8Array): string => {
    const path = `file ${files.size}`;
    files.set(path, content);
    return path;
  };
  return {
    writer: view,
    reader: view,
    reopen: async () => fixture(view.state),
    dispose: async () => {},
    copy: async () => fileOf(view.copy()),
    spoiled: () => fileOf(Buffer.alloc(64, 1)),
  };
}

describeView('memory view', async () => fixture());
describeAdoption('memory view', async () => fixture());
describeExpired('memory view', async () => fixture());
describeDatasets('memory view', async () => fixture());
