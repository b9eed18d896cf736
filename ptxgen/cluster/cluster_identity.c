// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/cluster.h>

static cj_reg read_special(cj_func *f, const char *name, const char *special) {
    cj_reg value = cj_u32(f, name);
    cj_ptx(f, "mov.u32 $1, %$2;", value, special);
    return value;
}

static cj_reg3 read_special3(cj_func *f, const char *name, const char *special) {
    cj_reg3 value = {cj_u32(f, name), cj_u32(f, name), cj_u32(f, name)};
    cj_ptx(f, "mov.u32 $1, %$2.x;", value.x, special);
    cj_ptx(f, "mov.u32 $1, %$2.y;", value.y, special);
    cj_ptx(f, "mov.u32 $1, %$2.z;", value.z, special);
    return value;
}

cj_reg cj_cluster_rank(cj_func *f) { return read_special(f, "rank", "cluster_ctarank"); }
cj_reg cj_cluster_size(cj_func *f) { return read_special(f, "cluster_size", "cluster_nctarank"); }
cj_reg cj_cluster_index(cj_func *f) { return read_special(f, "cluster", "clusterid.x"); }
cj_reg cj_cluster_count(cj_func *f) { return read_special(f, "clusters", "nclusterid.x"); }

cj_reg3 cj_cluster_block_index(cj_func *f) { return read_special3(f, "block_in_cluster", "cluster_ctaid"); }
cj_reg3 cj_cluster_shape(cj_func *f) { return read_special3(f, "cluster_shape", "cluster_nctaid"); }
cj_reg3 cj_cluster_grid_index(cj_func *f) { return read_special3(f, "cluster_in_grid", "clusterid"); }
cj_reg3 cj_cluster_grid_shape(cj_func *f) { return read_special3(f, "grid_in_clusters", "nclusterid"); }

// number = index.x + shape.x * (index.y + shape.y * index.z), x fastest.
static cj_reg linear(cj_func *f, const char *name, cj_reg3 index, cj_reg3 shape) {
    cj_reg number = cj_u32(f, name);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", number, index.z, shape.y, index.y);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, shape.x, index.x);
    return number;
}

static cj_reg product(cj_func *f, const char *name, cj_reg3 shape) {
    cj_reg number = cj_u32(f, name);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", number, shape.x, shape.y);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", number, shape.z);
    return number;
}

cj_reg cj_cluster_number(cj_func *f) {
    cj_reg3 index = cj_cluster_grid_index(f), shape = {.x = read_special(f, "grid_in_clusters", "nclusterid.x")};
    shape.y = read_special(f, "grid_in_clusters", "nclusterid.y");
    return linear(f, "cluster", index, shape);
}

cj_reg cj_cluster_total(cj_func *f) { return product(f, "clusters", cj_cluster_grid_shape(f)); }

static cj_reg3 thread_in_block(cj_func *f) { return read_special3(f, "thread_in_block", "tid"); }
static cj_reg3 block_shape(cj_func *f) { return read_special3(f, "block_shape", "ntid"); }

cj_reg cj_cluster_thread_rank(cj_func *f) {
    cj_reg3 index = thread_in_block(f), shape = block_shape(f);
    cj_reg  number = linear(f, "thread_rank", index, shape), threads = product(f, "block_threads", shape);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", number, cj_cluster_rank(f), threads);
    return number;
}

cj_reg cj_cluster_thread_count(cj_func *f) {
    cj_reg threads = product(f, "cluster_threads", block_shape(f));
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", threads, cj_cluster_size(f));
    return threads;
}

cj_reg3 cj_cluster_thread_index(cj_func *f) {
    cj_reg3 block = cj_cluster_block_index(f), shape = block_shape(f), thread = thread_in_block(f);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", thread.x, block.x, shape.x);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", thread.y, block.y, shape.y);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", thread.z, block.z, shape.z);
    return thread;
}

cj_reg3 cj_cluster_thread_shape(cj_func *f) {
    cj_reg3 blocks = cj_cluster_shape(f), shape = block_shape(f);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", shape.x, blocks.x);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", shape.y, blocks.y);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", shape.z, blocks.z);
    return shape;
}

cj_reg cj_cluster_mask(cj_func *f) {
    cj_reg mask = cj_register(f, "b16", "everyone"), bits = cj_u32(f, "bits"), one = cj_u32(f, "one");
    cj_ptx(f, "mov.u32 $1, 1;", one);
    cj_ptx(f, "shl.b32 $1, $2, $3;", bits, one, cj_cluster_size(f));
    cj_ptx(f, "sub.u32 $1, $1, 1;", bits);
    cj_ptx(f, "cvt.u16.u32 $1, $2;", mask, bits);
    return mask;
}

cj_reg cj_elect(cj_func *f) {
    cj_reg elected = cj_pred(f, "elected");
    cj_ptx(f, "elect.sync _|$1, 0xffffffff;", elected);
    return elected;
}

cj_reg cj_elect_block(cj_func *f) {
    cj_reg3 index = thread_in_block(f), shape = block_shape(f);
    cj_reg  number = linear(f, "thread", index, shape), elected = cj_elect(f);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, 32, $1;", elected, number);
    return elected;
}
