use crc32fast::Hasher;

/// Bytes of a bucket that are checked, and read, at once. Part of the format: `BucketRange.block_checksums` are of blocks of this length.
pub(crate) const BLOCK: u64 = 4 << 20;

/// CRC-32 of a bucket and of its blocks, over bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockHasher {
    whole: Hasher,
    block: Hasher,
    in_block: u64,
    blocks: Vec<u32>,
}

impl BlockHasher {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK - self.in_block).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.block.update(now);
            self.in_block += now.len() as u64;
            if self.in_block == BLOCK {
                self.end_block();
            }
            bytes = later;
        }
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.whole.combine(&block);
        self.blocks.push(block.finalize());
        self.in_block = 0;
    }

    /// The checksum of all bytes (0 for none), and those of the blocks when there is more than one.
    pub(crate) fn finish(mut self) -> (u32, Vec<u32>) {
        if self.in_block > 0 {
            self.end_block();
        }
        let blocks = match self.blocks.len() {
            0 | 1 => vec![],
            _ => self.blocks,
        };
        (self.whole.finalize(), blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_give_the_checksums_of_the_whole_and_of_its_blocks() {
        let bytes: Vec<u8> = (0..BLOCK as usize * 2 + 10)
            .map(|i| ((i * i) >> 7) as u8)
            .collect();
        for (length, blocks) in [
            (0, 0),
            (1, 0),
            (BLOCK as usize, 0),
            (BLOCK as usize + 1, 2),
            (bytes.len(), 3),
        ] {
            for piece in [1 << 20, 3_000_001, usize::MAX] {
                let bytes = &bytes[..length];
                let mut hasher = BlockHasher::default();
                bytes.chunks(piece).for_each(|piece| hasher.update(piece));
                let (whole, found) = hasher.finish();
                assert_eq!(whole, crc32fast::hash(bytes));
                assert_eq!(found.len(), blocks);
                let expected = bytes.chunks(BLOCK as usize).map(crc32fast::hash);
                assert!(blocks == 0 || expected.eq(found));
            }
        }
    }
}
